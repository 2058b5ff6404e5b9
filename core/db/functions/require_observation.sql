-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- Arguments: the column with the id of the key.
CREATE OR REPLACE FUNCTION public.require_observation()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  key_id constant text := to_jsonb(new) ->> tg_argv[0];
  owner uuid := (to_jsonb(new) ->> 'organization_id')::uuid;
begin
  if not is_operator() then
    return new;
  end if;
  if owner is null then
    select k.organization_id into owner from api_keys k where k.id = key_id::uuid;
  end if;
  if not exists (
    select from cluster_resources r
      join namespace_observations o on o.cluster_id = r.cluster_id and o.organization_id = owner
     where r.kind = 'ApiKey' and r.subject = key_id)
  then
    raise exception 'key % is for organization %, for which no namespace of its cluster was seen labelled: an operator of this release sees to it',
      key_id, owner using errcode = 'check_violation';
  end if;
  return new;
end $function$;
