-- Generated from migrations/0009-lift-catalogue-revision.sql: change it by a new migration.
--
-- Numbers the catalogue above a revision that was published once: nobody follows a lower one. A Postgres that was
-- restored may stand below it. Whoever lifts above the same revision meanwhile gets the same one.
CREATE OR REPLACE FUNCTION public.lift_catalogue_revision(above bigint)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  update catalogue_revision set revision = greatest(revision, above + 1) returning revision;
$function$;
