-- Defined by migrations/0044-catalog-of-administrators.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.is_administration()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(pg_has_role(current_user, to_regrole('model_gateway_administration'), 'usage'), false)
         and not is_owner()
$function$;
