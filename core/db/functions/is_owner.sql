-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- Whether the caller owns these tables or is a superuser, and so may repair rows manually.
CREATE OR REPLACE FUNCTION public.is_owner()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select pg_has_role(current_user, (select relowner from pg_class where oid = 'public.organizations'::regclass), 'usage')
$function$;
