-- Generated from migrations/0022-organization-hints.sql: change it by a new migration.
--
-- As in 0001: whoever misses a hint finds the change by reading. Arguments: the kind, then the id of the organization and of the row.
CREATE OR REPLACE FUNCTION public.hint_organization(what text, organization_id uuid, id uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_notify('model_gateway_organizations', what || ' ' || organization_id || ' ' || id)
$function$;
