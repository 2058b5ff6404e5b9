-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.guard_route()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not is_owner() and not is_route_owned(case tg_op when 'DELETE' then old.model else new.model end) then
    raise exception 'no cluster owns the route of model %', case tg_op when 'DELETE' then old.model else new.model end
      using errcode = 'check_violation';
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  if tg_op = 'INSERT' then
    new.cluster_id := (select r.cluster_id from cluster_resources r where r.kind = 'ModelRoute' and r.subject = new.model);
  end if;
  return new;
end $function$;
