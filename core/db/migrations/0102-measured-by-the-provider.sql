-- Measurements of models that one organization cannot make worse. Before, requests that ended by their caller's own
-- deadline (x-gateway-timeout-ms), which cost nothing, counted as failures of the model.

-- A row of requests has no index by time, but its id begins with its time. Each slice is read from its beginning.
create or replace function measure_models(since timestamptz, slice interval, slice_rows int) returns int
language plpgsql set search_path = public, pg_temp as $$
declare
  written int;
  slice_rows_of_organization int := greatest(slice_rows / 20, 1);
begin
  if not pg_try_advisory_xact_lock(hashtext('model_gateway measure_models')) then
    return 0;
  end if;
  delete from model_hours where hour < now() - interval '8 days';
  with slices as materialized (
    select at, r.id, r.organization_id, r.record, coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked') as model
      from generate_series(date_trunc('hour', since, 'UTC'), now(), slice) at,
           lateral (select r.id, r.organization_id, r.record from requests r
                     where r.id >= (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
                       and r.id < (lpad(to_hex((extract(epoch from at + slice) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
                       and r.ts >= at - interval '2 minutes' and r.ts < at + slice + interval '2 minutes'
                     order by r.id limit slice_rows) r
  ), fair as (
    select at, model, record, row_number() over (partition by at, organization_id, model order by id) as place
      from slices
     where record ->> 'outcome' in ('completed', 'failed', 'upstream_cut', 'client_gone')
       -- As a gateway judges a backend (gateway/exchange/internal/verdict.ts): a timeout counts if a provider had enough
       -- time, or if the request had all the time that its route gives.
       and (record ->> 'errorCode' is distinct from 'upstream_timeout'
            or exists (select from jsonb_array_elements(record -> 'attempts') attempt
                         left join model_routes t on t.model = attempt ->> 'model'
                        where attempt ->> 'result' in ('idle_timeout', 'status_408', 'status_504')
                           or attempt ->> 'result' = 'connect_timeout' and (attempt ->> 'ms')::bigint >= 1000
                           or attempt ->> 'result' = 'first_byte_timeout'
                              and (attempt ->> 'ms')::bigint >= least((t.document -> 'timeouts' ->> 'firstByteMs')::bigint,
                                                                      (t.document -> 'timeouts' ->> 'requestMs')::bigint / 2) - 5)
            or record ->> 'outcome' = 'failed'
               and (record ->> 'totalMs')::bigint >= (select (t.document -> 'timeouts' ->> 'requestMs')::bigint - 10
                                                        from model_routes t where t.model = record ->> 'modelAsked'))
  ), one as (
    select date_trunc('hour', at, 'UTC') as hour, model, record ->> 'outcome' in ('failed', 'upstream_cut') as is_failed,
           case when record ->> 'outcome' = 'completed' then duration_class((record ->> 'totalMs')::bigint) end as duration,
           case when record ->> 'stream' = 'true' then duration_class((record ->> 'firstContentMs')::bigint) end as first_content
      from fair where place <= slice_rows_of_organization
  ), counted as (
    select model, hour, count(*) as requests, count(*) filter (where is_failed) as failed,
           array_agg(first_content) as first_contents, array_agg(duration) as durations
      from one group by model, hour
  )
  insert into model_hours as m (model, hour, requests, failed, first_contents, durations)
  select model, hour, requests, failed,
         array(select count(x) from generate_series(0, 51) class left join unnest(c.first_contents) x on x = class
                group by class order by class),
         array(select count(x) from generate_series(0, 51) class left join unnest(c.durations) x on x = class
                group by class order by class)
    from counted c
  on conflict (model, hour) do update
    set requests = excluded.requests, failed = excluded.failed,
        first_contents = excluded.first_contents, durations = excluded.durations;
  get diagnostics written = row_count;
  return written;
end $$;
comment on function measure_models(timestamptz, interval, int) is
  'Measures the hours since then again. Of each slice of time at most so many requests are read, and of those at most a twentieth of that number per organization and model count. 0 while another call does so.';

comment on column model_hours.requests is
  'Those that the provider or the gateway ended: neither the request was at fault, nor its caller''s deadline too short.';
