-- Usage by provider, failed requests and durations, summed by the hour as usage_hourly is. Triggers keep these sums from the
-- rows of requests: each request counts once, and a correction takes out what it counted before.
--
-- A posting batch or a backup would hold up this lock, and all posting behind it: then the migration fails and can be repeated.
set local lock_timeout = '5s';

-- Neither of these two is strict: the planner then puts their bodies in their places, and posting is faster.

-- Whether the client got an error. 499: it left before a response. A response that the provider cut off began with 200.
create function is_failed(record jsonb) returns boolean language sql immutable parallel safe
return record ->> 'outcome' = 'upstream_cut'
  or ((record ->> 'status')::int >= 400 and (record ->> 'status')::int <> 499);

-- The class of a duration: ten for each power of ten, from 10 ms to 1,000 s. The pages have the same limits.
create function duration_class(ms bigint) returns smallint language sql immutable parallel safe
return width_bucket(ms, '{10, 13, 16, 20, 25, 32, 40, 50, 63, 79, 100, 126, 158, 200, 251, 316, 398, 501, 631, 794, 1000,
  1259, 1585, 1995, 2512, 3162, 3981, 5012, 6310, 7943, 10000, 12589, 15849, 19953, 25119, 31623, 39811, 50119, 63096, 79433,
  100000, 125893, 158489, 199526, 251189, 316228, 398107, 501187, 630957, 794328, 1000000}'::bigint[])::smallint;

create table usage_by_provider (
  organization_id uuid not null,
  api_key_id uuid not null,
  model text not null,
  provider text not null,
  hour timestamptz not null,
  requests bigint not null,
  errors bigint not null,
  input bigint not null,
  cached_input bigint not null,
  cache_write bigint not null,
  output bigint not null,
  reasoning bigint not null,
  cost bigint not null,
  primary key (organization_id, api_key_id, model, provider, hour)
) with (fillfactor = 70);
create index on usage_by_provider (organization_id, hour desc);
comment on table usage_by_provider is 'usage_hourly by the provider of the last attempt, and failed requests, since usage_since.';
comment on column usage_by_provider.provider is 'In lower case; -: no provider was called.';

create table durations_hourly (
  organization_id uuid not null,
  api_key_id uuid not null,
  model text not null,
  provider text not null,
  hour timestamptz not null,
  class smallint not null,
  requests bigint not null,
  primary key (organization_id, api_key_id, model, provider, hour, class)
) with (fillfactor = 70);
create index on durations_hourly (organization_id, hour desc);
comment on table durations_hourly is 'Completed requests by duration_class of their totalMs, since usage_since.';

create table usage_since (
  is_single boolean primary key default true check (is_single),
  at timestamptz not null
);
comment on table usage_since is 'From this hour on, every request is in usage_by_provider and durations_hourly.';

create function add_to_usage_by_provider() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  sign constant int := tg_argv[0]::int;
begin
  if not exists (select from moved) then
    return null;
  end if;
  with one as materialized (
    select m.organization_id, m.api_key_id, coalesce(m.record ->> 'modelRan', m.record ->> 'modelAsked') as model,
           coalesce(nullif(lower(m.record -> 'attempts' -> -1 ->> 'provider'), ''), '-') as provider,
           date_trunc('hour', m.ts, 'UTC') as hour, m.record -> 'tokens' as tokens, m.cost, is_failed(m.record) as is_failed,
           case when m.record ->> 'outcome' = 'completed'
                then duration_class(coalesce((m.record ->> 'totalMs')::bigint, 0)) end as class
      from moved m where m.ts >= (select at from usage_since)
  ), by_provider as (
    insert into usage_by_provider as u (organization_id, api_key_id, model, provider, hour, requests, errors,
                                        input, cached_input, cache_write, output, reasoning, cost)
    select organization_id, api_key_id, model, provider, hour, sign * count(*), sign * count(*) filter (where is_failed),
           sign * coalesce(sum((tokens ->> 'input')::bigint), 0), sign * coalesce(sum((tokens ->> 'cachedInput')::bigint), 0),
           sign * coalesce(sum((tokens ->> 'cacheWrite')::bigint), 0), sign * coalesce(sum((tokens ->> 'output')::bigint), 0),
           sign * coalesce(sum((tokens ->> 'reasoning')::bigint), 0), sign * sum(cost)
      from one group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (organization_id, api_key_id, model, provider, hour) do update set
      requests = u.requests + excluded.requests, errors = u.errors + excluded.errors, input = u.input + excluded.input,
      cached_input = u.cached_input + excluded.cached_input, cache_write = u.cache_write + excluded.cache_write,
      output = u.output + excluded.output, reasoning = u.reasoning + excluded.reasoning, cost = u.cost + excluded.cost
  )
  insert into durations_hourly as d (organization_id, api_key_id, model, provider, hour, class, requests)
  select organization_id, api_key_id, model, provider, hour, class, sign * count(*)
    from one where class is not null group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
  on conflict (organization_id, api_key_id, model, provider, hour, class) do update set requests = d.requests + excluded.requests;
  return null;
end $$;
comment on function add_to_usage_by_provider() is
  'Two that change the same rows change the same row of usage_hourly before, so the second waits for the commit of the first.';

revoke execute on function add_to_usage_by_provider() from public;

create trigger count_added after insert on requests referencing new table as moved
  for each statement execute function add_to_usage_by_provider('1');
create trigger count_replaced after update on requests referencing old table as moved
  for each statement execute function add_to_usage_by_provider('-1');
create trigger count_replacing after update on requests referencing new table as moved
  for each statement execute function add_to_usage_by_provider('1');

-- After the triggers: rows of earlier hours were posted without them, and later ones never were. The clock of a gateway,
-- which dates its requests, may be some minutes ahead. A database without requests, also archived ones, counts from its beginning.
insert into usage_since (at)
select case when exists (select from requests) or exists (select from usage_hourly)
            then date_trunc('hour', clock_timestamp() + interval '10 minutes', 'UTC') + interval '1 hour' else '-infinity' end;

-- Posting changes these all the time, and its requests are noted. Any other change is noted here.
create trigger doubt_change after insert or update or delete on usage_by_provider
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('usage', 'organization_id', 'api_key_id', 'model', 'hour');
create trigger doubt_change after insert or update or delete on durations_hourly
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('usage', 'organization_id', 'api_key_id', 'model', 'hour');
alter table usage_by_provider enable always trigger doubt_change;
alter table durations_hourly enable always trigger doubt_change;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  table_name text;
  role_name text;
begin
  foreach table_name in array array['usage_by_provider', 'durations_hourly'] loop
    execute format('alter table %I enable row level security', table_name);
    foreach role_name in array array['model_gateway_worker', 'model_gateway_operator'] loop
      continue when to_regrole(role_name) is null;
      execute format('create policy %I on %I to %I using (true) with check (true)',
                     'all_for_' || role_name, table_name, role_name);
    end loop;
    continue when to_regrole('model_gateway_cabinet') is null;
    execute format('create policy of_named_organization on %I to model_gateway_cabinet using (coalesce(%s or organization_id = %s, false))',
                   table_name, is_platform, named);
  end loop;
  if to_regrole('model_gateway_worker') is not null then
    grant select on usage_by_provider, durations_hourly, usage_since to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select on usage_by_provider, durations_hourly, usage_since to model_gateway_cabinet;
  end if;
end $$;
