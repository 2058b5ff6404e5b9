-- Defined by migrations/0044-catalog-of-administrators.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.guard_price()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if is_owner() then
    return new;
  end if;
  if is_administration() then
    if is_route_owned(new.model) then
      raise exception 'a cluster owns the route of model %, whose price this is', new.model using errcode = 'check_violation';
    end if;
    if not new.scheduled then
      new.valid_from := clock_timestamp();
    elsif new.valid_from < clock_timestamp() + interval '50 seconds' then
      raise exception 'a scheduled price must be known a minute ahead' using errcode = 'check_violation';
    end if;
  elsif not is_route_owned(new.model) then
    raise exception 'no cluster owns the route of model %, whose price this is', new.model using errcode = 'check_violation';
  end if;
  if greatest(new.input, new.cached_input, new.cache_write, new.output, new.reasoning, new.per_request) = 0
     and not exists (select from model_routes m where m.model = new.model and m.free)
  then
    raise exception 'all prices of model % are 0: set free to true instead', new.model using errcode = 'check_violation';
  end if;
  return new;
end $function$;
