-- Defined by migrations/0022-organization-hints.sql; change it by a new migration.
--
-- A listener that misses a hint finds the change by polling. Arguments: the kind, the columns of the organization and of the row.
CREATE OR REPLACE FUNCTION public.hint_organization(what text, organization_id uuid, id uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_notify('model_gateway_organizations', what || ' ' || organization_id || ' ' || id)
$function$;
