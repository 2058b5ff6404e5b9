-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- A route of another cluster or of the cabinet cannot be claimed.
CREATE OR REPLACE FUNCTION public.refuse_claim()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not is_owner() and exists (
    select from model_routes m where m.model = new.subject and m.cluster_id is distinct from new.cluster_id)
  then
    raise exception 'the route of model % was not made by cluster %: remove it where it was made, or serve another model',
      new.subject, new.cluster_id using errcode = 'check_violation';
  end if;
  return new;
end $function$;
