-- Defined by migrations/0044-catalog-of-administrators.sql; change it by a new migration.
--
-- Only administration is limited: a cluster may take a provider over, as before.
CREATE OR REPLACE FUNCTION public.guard_provider()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  touched constant text := case tg_op when 'DELETE' then old.name else new.name end;
begin
  if is_administration() and exists (
    select from cluster_resources r where r.kind = 'ModelProvider' and r.subject = touched)
  then
    raise exception 'a cluster owns provider %: change it there', touched using errcode = 'check_violation';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $function$;
