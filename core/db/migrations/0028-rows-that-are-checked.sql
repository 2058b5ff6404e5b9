-- Rows are checked where they are written, so that a role that was taken over can do little more than its process does, and
-- nothing of it unseen: a charge is not taken back, a payment not called paid, no price or key made for whom it likes.
-- What each credential still opens: cabinet/db/DECISIONS.md.

-- Whether the caller owns these tables, or is a superuser: whoever repairs rows by hand.
create function is_owner() returns boolean language sql stable as $$
  select pg_has_role(current_user, (select relowner from pg_class where oid = 'public.organizations'::regclass), 'usage')
$$;

-- 1. Charges. A request's charge gives way to a later ending of the same request only.

-- What a record's tokens cost by its price; null: it names no price that is known.
create function cost_of_record(record jsonb) returns numeric language sql stable as $$
  select (record -> 'tokens' ->> 'input')::numeric * p.input
         + (record -> 'tokens' ->> 'cachedInput')::numeric * coalesce(p.cached_input, p.input)
         + (record -> 'tokens' ->> 'cacheWrite')::numeric * coalesce(p.cache_write, p.input)
         + (record -> 'tokens' ->> 'output')::numeric * p.output
         + (record -> 'tokens' ->> 'reasoning')::numeric * coalesce(p.reasoning, p.output)
         + p.per_request
    from model_prices p where p.id = (record ->> 'priceId')::uuid
$$;

-- Whether an entry of a higher rank may replace what is booked of its request: true, or SQLSTATE 22023.
--
-- settled (1) replaces released (0). Where it costs less than what was delivered by then, it must be what its tokens cost.
-- corrected (2) takes back an answer that nobody got: at cost 0, of the very request that was settled, and never once
-- content of a stream was delivered. Nothing is lowered a week after it was booked.
create function check_replacement(booked requests, entry_rank smallint, entry_key uuid, entry_day date, entry_cost bigint,
                                  entry_record jsonb) returns boolean
language plpgsql stable as $$
declare
  lowered_within constant interval := '7 days';
  fault text;
begin
  fault := case
    when (entry_key, entry_day) is distinct from (booked.api_key_id, booked.day)
      then 'it was booked for another key or day'
    when entry_rank = 2 and (entry_cost <> 0 or entry_record ->> 'outcome' is distinct from 'unsettled')
      then 'a correction takes back all of an answer that nobody got, and says so'
    when entry_rank = 2 and booked.record -> 'stream' = 'true' and coalesce(booked.record ->> 'firstContentMs', '') <> ''
      then 'content of its stream was delivered'
    when entry_rank = 2 and booked.rank = 1
         and (entry_record ->> 'modelRan', entry_record ->> 'priceId', entry_record -> 'tokens')
             is distinct from (booked.record ->> 'modelRan', booked.record ->> 'priceId', booked.record -> 'tokens')
      then 'a correction does not say what was settled'
    when entry_cost < booked.cost and booked.updated_at < clock_timestamp() - lowered_within
      then 'it was booked more than a week ago'
    when entry_rank = 1 and entry_cost < booked.cost and entry_cost is distinct from cost_of_record(entry_record)
      then 'it costs less than was delivered, and not what its tokens cost'
  end;
  if fault is not null then
    raise exception 'charge % is not replaced: %', booked.id, fault using errcode = 'invalid_parameter_value';
  end if;
  return true;
end $$;

create or replace function check_batch(entries jsonb) returns void language plpgsql stable as $$
declare
  bad text;
begin
  select e.request_id || ': ' || case
           when e.cost < 0 then 'a negative cost'
           when e.rank > 2 then 'no such kind of charge'
           when a.organization_id is null then 'no such organization'
           when k.id is null then 'no such key in this organization'
           else 'not a UUIDv7 or a field is missing' end
    into bad
    from batch_entries(entries) e
    left join org_account a on a.organization_id = e.organization_id
    left join api_keys k on k.id = e.key_id and k.organization_id = e.organization_id
   where (e.cost >= 0 and k.id = e.key_id and substr(e.request_id::text, 15, 1) = '7'
          and a.organization_id = e.organization_id and e.rank between 0 and 2 and e.day is not null) is not true
   limit 1;
  if bad is not null then
    raise exception 'charge %', bad using errcode = 'invalid_parameter_value';
  end if;
end $$;

-- Books the round-th entries of the requests of a batch, at most one each. Called by post_batch, with its locks.
-- A charge that becomes less leaves a row of the audit log.
create or replace function post_round(entries jsonb, round bigint) returns void language plpgsql as $$
begin
  with booking as materialized (
    select e.place, e.request_id, e.ts, e.rank, e.organization_id, e.cost, e.record, e.cost - coalesce(r.cost, 0) as change,
           e.key_id, e.day, r.rank as rank_before, r.cost as cost_before, r.record as record_before,
           case when r.id is null then false
                else check_replacement(r, e.rank, e.key_id, e.day, e.cost, e.record) end as known
      from batch_entries(entries) e
      left join requests r on r.id = e.request_id and r.ts = e.ts and r.organization_id = e.organization_id
     where e.occurrence = round and (r.id is null or e.rank > r.rank)
  ), new_request as (
    insert into requests (id, ts, organization_id, api_key_id, rank, cost, day, record)
    select b.request_id, b.ts, b.organization_id, b.key_id, b.rank, b.cost, b.day, b.record
      from booking b where not b.known order by b.request_id
  ), better_request as (
    update requests r set rank = b.rank, cost = b.cost, record = b.record, updated_at = clock_timestamp()
      from booking b where b.known and r.id = b.request_id and r.ts = b.ts
  ), audited as (
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after, request_id)
    select 'job', 'worker', 'charge.corrected', 'Request', b.request_id, b.organization_id,
           jsonb_build_object('costNano', b.cost_before::text, 'rank', b.rank_before, 'outcome', b.record_before -> 'outcome'),
           jsonb_build_object('costNano', b.cost::text, 'rank', b.rank, 'outcome', b.record -> 'outcome'), b.request_id
      from booking b where b.known and b.change < 0 order by b.place
  ), ledger_row as (
    insert into balance_ledger (organization_id, seq, kind, ref_id, rank, amount, balance_after, ts,
                                api_key_id, day, model, price_id, tokens, usage_source)
    select b.organization_id, a.version + row_number() over upto,
           case when b.known then 'adjust' else 'charge' end::ledger_kind, b.request_id, b.rank,
           -b.change, a.balance - (sum(b.change) over upto)::bigint, b.ts, b.key_id, b.day,
           coalesce(b.record ->> 'modelRan', b.record ->> 'modelAsked'), (b.record ->> 'priceId')::uuid,
           b.record -> 'tokens', b.record ->> 'usageSource'
      from booking b join org_account a on a.organization_id = b.organization_id
     where b.change <> 0
    window upto as (partition by b.organization_id order by b.place)
  ), account as (
    update org_account a
       set balance = a.balance - t.change, version = a.version + t.rows, updated_at = clock_timestamp()
      from (select b.organization_id, sum(b.change)::bigint as change, count(*) as rows
              from booking b where b.change <> 0 group by 1) t
     where a.organization_id = t.organization_id
  ), key_day as (
    insert into key_daily_spend as s (key_id, day, amount, version)
    select b.key_id, b.day, sum(b.change), 1
      from booking b where b.change <> 0 group by 1, 2 order by 1, 2
    on conflict (key_id, day) do update set amount = s.amount + excluded.amount, version = s.version + 1
  ), moved as ( -- what is booked now comes in, what was booked before goes out
    select b.organization_id, b.key_id, b.ts, 1 as sign, b.cost, b.record from booking b
    union all
    select b.organization_id, b.key_id, b.ts, -1, b.cost_before, b.record_before from booking b where b.known
  )
  insert into usage_hourly as u (organization_id, api_key_id, model, hour, requests,
                                 input, cached_input, cache_write, output, reasoning, cost)
  select m.organization_id, m.key_id, coalesce(m.record ->> 'modelRan', m.record ->> 'modelAsked'),
         date_trunc('hour', m.ts, 'UTC'), sum(m.sign),
         sum(m.sign * (m.record -> 'tokens' ->> 'input')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'cachedInput')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'cacheWrite')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'output')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'reasoning')::bigint),
         sum(m.sign * m.cost)
    from moved m group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (organization_id, api_key_id, model, hour) do update set
    requests = u.requests + excluded.requests, input = u.input + excluded.input,
    cached_input = u.cached_input + excluded.cached_input, cache_write = u.cache_write + excluded.cache_write,
    output = u.output + excluded.output, reasoning = u.reasoning + excluded.reasoning, cost = u.cost + excluded.cost;
end $$;

revoke execute on function cost_of_record(jsonb), check_replacement(requests, smallint, uuid, date, bigint, jsonb) from public;

-- 2. Payments. One becomes paid by what its provider said of it, which is kept.

-- A paid payment as somebody has read it at the provider. Appended only.
create table payment_evidence (
  id bigint generated always as identity primary key,
  payment_id uuid not null references payments,
  provider_id text not null check (length(provider_id) between 1 and 128),
  status text not null,
  paid boolean not null,
  amount bigint not null,
  captured_at timestamptz,
  read_at timestamptz not null default clock_timestamp(),
  read_by text not null default current_user
);
comment on column payment_evidence.captured_at is 'As the provider says; null: it says none.';
comment on column payment_evidence.read_by is 'The Postgres role of the process that asked.';
create index on payment_evidence (payment_id);
create trigger refuse_change before update or delete on payment_evidence
  for each row execute function refuse_change();
create trigger refuse_truncate before truncate on payment_evidence
  for each statement execute function refuse_change();
revoke update, delete, truncate on payment_evidence from public, current_user;

alter table payments add column evidence_id bigint unique references payment_evidence;
comment on column payments.evidence_id is 'Why it is called paid. Null: it is not, it was before evidence was kept, or a notification says so.';

create function require_evidence() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.provider_id = new.provider_id and exists (
    select from payment_evidence e
     where (e.id, e.payment_id, e.provider_id, e.status, e.paid, e.amount)
         = (new.evidence_id, new.id, new.provider_id, 'succeeded', true, new.amount))
  then
    return new;
  end if;
  -- The release before this keeps no evidence, and may run beside it. It is believed what a third one has written down: the
  -- receiver of notifications, whose inbox it cannot write.
  if new.evidence_id is null and (old.provider_id is null or old.provider_id = new.provider_id) and exists (
    select from webhook_inbox w
     where (w.provider, w.event, w.object_id) = (new.provider, 'payment.succeeded', new.provider_id)
       and w.body @> jsonb_build_object('object', jsonb_build_object(
             'id', new.provider_id, 'status', 'succeeded', 'paid', true,
             'metadata', jsonb_build_object('payment_id', new.id),
             'amount', jsonb_build_object('currency', 'RUB',
                                          'value', to_char(new.amount / 1000000000.0, 'FM999999999990.00')))))
  then
    return new;
  end if;
  raise exception 'payment % is not known to be paid: its provider''s word on % is not in payment_evidence', new.id, new.provider_id
    using errcode = 'check_violation';
end $$;
create trigger require_evidence before update on payments
  for each row when (old.succeeded_at is null and new.succeeded_at is not null) execute function require_evidence();

create function refuse_other_payment() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
  if is_owner() then
    return new;
  end if;
  raise exception 'payment % is % at its provider, and stays what it was paid by', old.id, old.provider_id
    using errcode = 'check_violation';
end $$;
create trigger refuse_other_payment before update of provider_id, evidence_id, succeeded_at on payments
  for each row when (
    (old.provider_id is not null and new.provider_id is distinct from old.provider_id)
    or (old.succeeded_at is not null
        and (new.evidence_id is distinct from old.evidence_id or new.succeeded_at is distinct from old.succeeded_at)))
  execute function refuse_other_payment();

revoke execute on function require_evidence(), refuse_other_payment() from public;

-- 3. Catalogue and keys. A cluster writes its own routes, prices and keys.

-- Has the rights of an operator, and not those of the cabinet, whose keys are made otherwise.
create function is_operator() returns boolean language sql stable as $$
  select coalesce(pg_has_role(current_user, to_regrole('model_gateway_operator'), 'usage'), false)
         and not coalesce(pg_has_role(current_user, to_regrole('model_gateway_cabinet'), 'usage'), false)
         and not is_owner()
$$;

alter table model_routes add column cluster_id text;
comment on column model_routes.cluster_id is 'Which cluster made it; null: the cabinet. It never changes.';
update model_routes m set cluster_id = r.cluster_id
  from cluster_resources r where r.kind = 'ModelRoute' and r.subject = m.model;

create function is_route_owned(model text) returns boolean language sql stable as $$
  select exists (select from cluster_resources r where r.kind = 'ModelRoute' and r.subject = $1)
$$;

-- A route that another cluster or the cabinet has made is nobody's to claim.
create function refuse_claim() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
  if not is_owner() and exists (
    select from model_routes m where m.model = new.subject and m.cluster_id is distinct from new.cluster_id)
  then
    raise exception 'the route of model % was not made by cluster %: remove it where it was made, or serve another model',
      new.subject, new.cluster_id using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger refuse_claim before insert or update of cluster_id, kind, subject on cluster_resources
  for each row when (new.kind = 'ModelRoute') execute function refuse_claim();

create function guard_route() returns trigger
language plpgsql set search_path = public, pg_temp as $$
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
end $$;
create trigger guard_route before insert or update or delete on model_routes
  for each row execute function guard_route();

create function guard_price() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
  if is_owner() then
    return new;
  end if;
  if not is_route_owned(new.model) then
    raise exception 'no cluster owns the route of model %, whose price this is', new.model using errcode = 'check_violation';
  end if;
  if greatest(new.input, new.cached_input, new.cache_write, new.output, new.reasoning, new.per_request) = 0
     and not exists (select from model_routes m where m.model = new.model and m.free)
  then
    raise exception 'all prices of model % are 0: set free to true instead', new.model using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger guard_price before insert on model_prices for each row execute function guard_price();

-- Namespaces that an operator has seen labelled for an organization.
create table namespace_observations (
  cluster_id text not null,
  namespace text not null,
  organization_id uuid not null references organizations,
  first_seen_at timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  primary key (cluster_id, organization_id, namespace)
);
comment on column namespace_observations.last_seen_at is 'To a day.';

-- Keys that clusters have, or had, were made for organizations whose label was read.
insert into namespace_observations (cluster_id, namespace, organization_id, first_seen_at)
select o.cluster_id, o.namespace, k.organization_id, min(k.created_at)
  from (select cluster_id, namespace, subject from cluster_resources where kind = 'ApiKey'
        union all
        select cluster_id, namespace, key_id::text from orphaned_keys) o
  join api_keys k on k.id::text = o.subject
 group by 1, 2, 3;

-- Notes that a namespace is labelled for an organization; the first time, in the audit log. For the holder of the epoch.
create function observe_namespace(cluster text, cluster_epoch bigint, labelled text, organization uuid) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from cluster_epochs e where e.cluster_id = cluster and e.epoch = cluster_epoch for share;
  if not found then
    raise exception 'epoch % of cluster % has ended: another operator is the leader now', cluster_epoch, cluster
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  insert into namespace_observations (cluster_id, namespace, organization_id)
  values (cluster, labelled, organization) on conflict do nothing;
  if found then
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, after)
    values ('resource', cluster || '/Namespace//' || labelled, 'namespace.observe', 'Namespace', cluster || '/' || labelled,
            organization, jsonb_build_object('clusterId', cluster, 'namespace', labelled));
  else
    update namespace_observations o set last_seen_at = clock_timestamp()
     where (o.cluster_id, o.namespace, o.organization_id) = (cluster, labelled, organization)
       and o.last_seen_at < clock_timestamp() - interval '1 day';
  end if;
end $$;
revoke execute on function observe_namespace(text, bigint, text, uuid) from public;

-- Arguments: the column with the id of the key.
create function require_observation() returns trigger
language plpgsql set search_path = public, pg_temp as $$
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
end $$;
create trigger require_observation before insert on api_keys
  for each row execute function require_observation('id');
create trigger require_observation_of_adopted before update of managed_by on api_keys
  for each row when (old.managed_by <> 'kubernetes' and new.managed_by = 'kubernetes') execute function require_observation('id');
-- A secret opens a key as well as a new key does.
create trigger require_observation before insert on api_key_credentials
  for each row execute function require_observation('key_id');

do $$
declare
  role_name text;
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
begin
  alter table payment_evidence enable row level security;
  foreach role_name in array array['model_gateway_worker', 'model_gateway_cabinet'] loop
    continue when to_regrole(role_name) is null;
    execute format('grant select, insert (payment_id, provider_id, status, paid, amount, captured_at)
      on payment_evidence to %I', role_name);
    execute format('grant update (evidence_id) on payments to %I', role_name);
  end loop;
  if to_regrole('model_gateway_worker') is not null then
    create policy all_for_model_gateway_worker on payment_evidence to model_gateway_worker using (true) with check (true);
  end if;
  if to_regrole('model_gateway_cabinet') is not null then -- payments have a wall of their own, as in 0018
    execute format('create policy of_named_organization on payment_evidence to model_gateway_cabinet
      using (coalesce(%s or exists (select from payments p where p.id = payment_id), false))', is_platform);
  end if;
  if to_regrole('model_gateway_operator') is not null then
    grant select on namespace_observations to model_gateway_operator;
    grant execute on function observe_namespace(text, bigint, text, uuid) to model_gateway_operator;
  end if;
end $$;
