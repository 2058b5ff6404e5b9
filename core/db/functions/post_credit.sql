-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
--
-- Posts one credit (or a refund, if negative), once per (ref, kind) however often it is called. In lane 0, if there are
-- several. Returns the current balance and version, and whether this call posted it.
CREATE OR REPLACE FUNCTION public.post_credit(organization uuid, credit_kind ledger_kind, ref uuid, credit_amount bigint, at timestamp with time zone)
 RETURNS TABLE(balance bigint, version bigint, booked boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  earlier balance_ledger;
  account org_account;
  lane account_lanes;
begin
  if credit_kind in ('charge', 'adjust') then
    raise exception 'a % is booked by post_batch only', credit_kind using errcode = 'invalid_parameter_value';
  end if;
  perform from account_lanes n where n.organization_id = organization and n.lane = 0 for update;
  select * into account from org_account a where a.organization_id = organization for update;
  if not found then
    raise exception 'no such organization: %', organization using errcode = 'foreign_key_violation';
  end if;
  if account.lanes > 1 then -- again: it may have got them while this waited for the account
    select * into strict lane from account_lanes n where n.organization_id = organization and n.lane = 0 for update;
  end if;
  -- The account's lock is not enough: the same ref may come for another organization at the same time.
  perform pg_advisory_xact_lock(hashtextextended(credit_kind || ':' || ref, 0));
  select * into earlier from balance_ledger l where l.ref_id = ref and l.kind = credit_kind;
  if found then
    if earlier.organization_id <> organization or earlier.amount <> credit_amount then
      raise exception '% % was booked with another amount or organization', credit_kind, ref
        using errcode = 'unique_violation';
    end if;
    return query select a.balance, a.version, false from org_account a where a.organization_id = organization;
    return;
  end if;
  perform set_config('model_gateway.booking', 'on', true); -- its own row says what it changes (0021)
  return query
    update org_account a
       set balance = a.balance + credit_amount, version = a.version + 1,
           credited_xid = pg_current_xact_id(), updated_at = clock_timestamp()
     where a.organization_id = organization
    returning a.balance, a.version, true;
  if account.lanes = 1 then
    insert into balance_ledger (organization_id, seq, kind, ref_id, amount, balance_after, ts)
    select a.organization_id, a.version, credit_kind, ref, credit_amount, a.balance, at
      from org_account a where a.organization_id = organization;
  else
    update account_lanes n set balance = n.balance + credit_amount, version = n.version + 1
     where n.organization_id = organization and n.lane = 0 returning n.* into strict lane;
    insert into balance_ledger (organization_id, seq, kind, ref_id, amount, balance_after, ts)
    values (organization, lane.version, credit_kind, ref, credit_amount, lane.balance, at);
    insert into lane_runs (organization_id, first_place, first_seq, row_count, others_balance)
    values (organization, account.version + 1, lane.version, 1, account.balance + credit_amount - lane.balance);
    update ledger_hourly h
       set first_place = least(h.first_place, account.version + 1), last_place = greatest(h.last_place, account.version + 1)
     where h.organization_id = organization and h.hour = date_trunc('hour', at, 'UTC');
  end if;
  perform set_config('model_gateway.booking', 'off', true);
end $function$;
