-- Defined by migrations/0009-lift-catalogue-revision.sql; change it by a new migration.
--
-- Numbers the catalog above a revision that was published once, since no gateway follows a lower one. A restored Postgres
-- may be below it. Concurrent calls above the same revision get the same one.
CREATE OR REPLACE FUNCTION public.lift_catalogue_revision(above bigint)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  update catalogue_revision set revision = greatest(revision, above + 1) returning revision;
$function$;
