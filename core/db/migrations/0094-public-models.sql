-- What the public pages of models need: in which countries providers are, and which models are gone.

create function provider_countries() returns table (provider text, country text)
language sql stable security definer set search_path = public, pg_temp as $$
  select name, document ->> 'country' from model_providers where document ? 'country'
$$;
comment on function provider_countries() is 'The customers'' process may not read model_providers, which has credentials.';
revoke execute on function provider_countries() from public;

create table removed_models (
  model text primary key,
  is_open boolean not null,
  fallbacks text[] not null,
  removed_at timestamptz not null default clock_timestamp()
);
comment on table removed_models is 'Models whose route was removed and not made again. Written by a trigger on model_routes.';
comment on column removed_models.is_open is 'Whether every organization could see the model.';
comment on column removed_models.fallbacks is 'The fallbacks that the route had, in order.';

create function note_removed_model() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    delete from removed_models where model = new.model;
  else
    insert into removed_models (model, is_open, fallbacks)
    values (old.model, coalesce(jsonb_typeof(old.document -> 'organizations') = 'null', false),
            array(select jsonb_array_elements_text(coalesce(old.document -> 'fallbacks', '[]'))))
    on conflict (model) do update
      set is_open = excluded.is_open, fallbacks = excluded.fallbacks, removed_at = excluded.removed_at;
  end if;
  return null;
end $$;
revoke execute on function note_removed_model() from public;

create trigger note_removed_model after insert or delete on model_routes
  for each row execute function note_removed_model();

do $$ begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant execute on function provider_countries() to model_gateway_cabinet;
    grant select on removed_models to model_gateway_cabinet;
  end if;
end $$;
