-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- Has the permissions of an operator but not those of the cabinet, whose keys are made otherwise.
CREATE OR REPLACE FUNCTION public.is_operator()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(pg_has_role(current_user, to_regrole('model_gateway_operator'), 'usage'), false)
         and not coalesce(pg_has_role(current_user, to_regrole('model_gateway_cabinet'), 'usage'), false)
         and not is_owner()
$function$;
