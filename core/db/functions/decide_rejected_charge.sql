-- Defined by migrations/0047-operations.sql; change it by a new migration.
--
-- Decides a rejected charge, under a lock of its row. outcome:
--   posted, written_off: decided now, and a charge is in the ledger, or was before
--   rejected: the ledger rejects it again, because of problem; nothing is changed
--   unreadable: only an entry that could be read can be posted; nothing is changed
--   decided: it was decided before; nothing is changed
-- No row: there is no such charge. organization is null if it does not exist.
-- Posting names the account as credited, so that its balance is copied to Redis, as settlement does otherwise.
CREATE OR REPLACE FUNCTION public.decide_rejected_charge(rejected uuid, new_decision text, administrator uuid, reason text)
 RETURNS TABLE(outcome text, organization uuid, problem text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;
