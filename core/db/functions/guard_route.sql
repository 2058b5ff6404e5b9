-- Defined by migrations/0044-catalog-of-administrators.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.guard_route()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  touched constant text := case tg_op when 'DELETE' then old.model else new.model end;
begin
  if is_administration() then
    if is_route_owned(touched) or (tg_op <> 'INSERT' and old.cluster_id is not null) then
      raise exception 'a cluster owns the route of model %: change it there', touched using errcode = 'check_violation';
    end if;
  elsif not is_owner() and not is_route_owned(touched) then
    raise exception 'no cluster owns the route of model %', touched using errcode = 'check_violation';
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  if tg_op = 'INSERT' then
    new.cluster_id := (select r.cluster_id from cluster_resources r where r.kind = 'ModelRoute' and r.subject = new.model);
  end if;
  return new;
end $function$;
