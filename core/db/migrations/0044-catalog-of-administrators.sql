-- Administrators make and change the providers, routes and prices that no cluster owns.

create function is_administration() returns boolean language sql stable as $$
  select coalesce(pg_has_role(current_user, to_regrole('model_gateway_administration'), 'usage'), false)
         and not is_owner()
$$;

create or replace function guard_route() returns trigger
language plpgsql set search_path = public, pg_temp as $$
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
end $$;

-- Only administration is limited: a cluster may take a provider over, as before.
create function guard_provider() returns trigger
language plpgsql set search_path = public, pg_temp as $$
declare
  touched constant text := case tg_op when 'DELETE' then old.name else new.name end;
begin
  if is_administration() and exists (
    select from cluster_resources r where r.kind = 'ModelProvider' and r.subject = touched)
  then
    raise exception 'a cluster owns provider %: change it there', touched using errcode = 'check_violation';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger guard_provider before insert or update or delete on model_providers
  for each row execute function guard_provider();

create or replace function guard_price() returns trigger
language plpgsql set search_path = public, pg_temp as $$
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
end $$;

do $$
begin
  if to_regrole('model_gateway_administration') is null then
    return;
  end if;
  grant select on model_providers, model_routes, gateway_replicas to model_gateway_administration;
  grant select (revision) on cluster_resources to model_gateway_administration;
  grant execute on function current_catalogue_revision() to model_gateway_administration;
  grant insert (name, document), update (document, updated_at) on model_providers to model_gateway_administration;
  grant insert (model, document, free), update (document, free, updated_at)
    on model_routes to model_gateway_administration;
  grant insert (id, model, valid_from, scheduled, input, cached_input, cache_write, output, reasoning, per_request)
    on model_prices to model_gateway_administration;
end $$;
