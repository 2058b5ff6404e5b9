-- Defined by migrations/0077-usage-by-provider.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.add_to_usage_by_provider()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
