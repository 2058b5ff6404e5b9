-- What an operator sees of the platform: money by day, charges that could not be posted and what became of them, the state of
-- the checks and of the gateways.

-- Sums of the ledger by Moscow day. One row for each shard, because its batches are posted one after the other: no batch
-- waits for another one's row.
create table ledger_daily (
  day date not null,
  kind ledger_kind not null,
  shard smallint not null,
  amount numeric not null,
  primary key (day, kind, shard)
) with (fillfactor = 50);
comment on column ledger_daily.amount is 'Of all organizations of the shard, hence numeric. In the order of the ledger: charges are negative.';

create function add_to_ledger_days() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into ledger_daily as d (day, kind, shard, amount)
  select (a.ts at time zone 'UTC' + interval '3 hours')::date, a.kind, o.shard, sum(a.amount)
    from added a join organizations o on o.id = a.organization_id
   group by 1, 2, 3 order by 1, 2, 3
  on conflict (day, kind, shard) do update set amount = d.amount + excluded.amount;
  return null;
end $$;
create trigger add_to_days after insert on balance_ledger referencing new table as added
  for each statement execute function add_to_ledger_days();
-- The trigger's lock lets nothing be posted until this is committed.
insert into ledger_daily (day, kind, shard, amount)
select (l.ts at time zone 'UTC' + interval '3 hours')::date, l.kind, o.shard, sum(l.amount)
  from balance_ledger l join organizations o on o.id = l.organization_id
 group by 1, 2, 3;

-- A charge that was rejected is decided once: posted after all, or written off.
alter table charges_rejected
  add column decision text check (decision in ('posted', 'written_off')),
  add column decided_at timestamptz,
  add column decided_by uuid references administrators,
  add column decision_reason text,
  add check ((decision is null) = (decided_at is null) and (decision is null) = (decided_by is null)
             and (decision is null) = (decision_reason is null));
comment on column charges_rejected.decision is 'null: an administrator has not decided yet.';
create index on charges_rejected (at desc, id desc);
create index on charges_rejected (at desc, id desc) where decision is null;
create trigger refuse_change before update on charges_rejected
  for each row when (old.decision is not null) execute function refuse_change();

-- Decides a rejected charge, under a lock of its row. outcome:
--   posted, written_off: decided now, and a charge is in the ledger, or was before
--   rejected: the ledger rejects it again, because of problem; only the noted error is changed
--   unreadable: only an entry that could be read can be posted; nothing is changed
--   decided: it was decided before; nothing is changed
-- No row: there is no such charge. organization is null if it does not exist.
-- Posting names the account as credited, so that its balance is copied to Redis, as settlement does otherwise.
create function decide_rejected_charge(rejected uuid, new_decision text, administrator uuid, reason text)
returns table (outcome text, organization uuid, problem text)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  held charges_rejected;
  charge jsonb;
  owner_id uuid;
  why text;
  state text;
begin
  if coalesce(new_decision not in ('posted', 'written_off'), true) then
    raise exception 'no such decision: %', new_decision using errcode = 'invalid_parameter_value';
  end if;
  select * into held from charges_rejected c where c.id = rejected for update;
  if not found then
    return;
  end if;
  begin
    charge := held.entry::jsonb;
    select o.id into owner_id from organizations o where o.id::text = charge ->> 'organizationId';
  exception when data_exception then
    charge := null;
  end;
  if held.decision is not null then
    return query select 'decided', owner_id, null::text;
    return;
  end if;
  if new_decision = 'posted' then
    if charge ->> 'kind' is distinct from 'charge' then
      return query select 'unreadable', owner_id, null::text;
      return;
    end if;
    begin
      perform from post_batch(jsonb_build_array(jsonb_build_object(
        'request_id', charge -> 'requestId', 'organization_id', charge -> 'organizationId', 'key_id', charge -> 'keyId',
        'rank', array_position(array['released', 'settled', 'corrected'], charge ->> 'chargeKind') - 1,
        'day', charge -> 'day', 'cost', charge -> 'costNano', 'record', charge -> 'record')));
      update org_account a set credited_xid = pg_current_xact_id() where a.organization_id = owner_id;
    exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
      get stacked diagnostics why = message_text, state = returned_sqlstate;
      update charges_rejected c set error = why, sqlstate = state where c.id = rejected;
      return query select 'rejected', owner_id, why;
      return;
    end;
  end if;
  update charges_rejected c
     set decision = new_decision, decided_at = clock_timestamp(), decided_by = administrator, decision_reason = reason
   where c.id = rejected;
  return query select new_decision, owner_id, null::text;
end $$;

alter table invariant_audit add column looked_at timestamptz;
comment on column invariant_audit.looked_at is 'When the last incremental audit ended; began_at is that of the full one.';

-- What waits in Redis, as a worker has last measured it: administration may not read the stream of charges.
create table backlog (
  only_row boolean primary key default true check (only_row),
  measured_at timestamptz,
  charges_unposted bigint not null default 0,
  oldest_charge_ms double precision not null default 0,
  holds bigint not null default 0,
  overdue_hold_ms double precision not null default 0,
  shards_unavailable integer not null default 0
);
comment on column backlog.measured_at is 'null: never.';
insert into backlog default values;
create trigger refuse_delete before delete on backlog for each row execute function refuse_change();

alter table gateway_replicas add column version text;
comment on column gateway_replicas.version is 'null: a gateway of a release that does not report it.';

revoke execute on function add_to_ledger_days(), decide_rejected_charge(uuid, text, uuid, text) from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant update (looked_at) on invariant_audit to model_gateway_worker;
    grant select, update (measured_at, charges_unposted, oldest_charge_ms, holds, overdue_hold_ms, shards_unavailable)
      on backlog to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_administration') is not null then
    grant select on ledger_daily, backlog, charges_rejected, invariant_audit, invariant_breaches, gateway_replicas, catalogue_revision
      to model_gateway_administration;
    grant execute on function decide_rejected_charge(uuid, text, uuid, text) to model_gateway_administration;
  end if;
end $$;
