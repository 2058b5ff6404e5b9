-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
--
-- Gives an organization more lanes. Returns how many it had; null: no such organization. Fewer than before change nothing.
-- Waits for all that is being posted for the organization, and holds up the rest until its transaction ends.
CREATE OR REPLACE FUNCTION public.set_lanes(organization uuid, lane_count integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  account org_account;
begin
  if lane_count not between 1 and 16 then
    raise exception 'an account has 1 to 16 lanes, not %', lane_count using errcode = 'invalid_parameter_value';
  end if;
  perform from account_lanes n where n.organization_id = organization order by n.lane for update;
  select * into account from org_account a where a.organization_id = organization for update;
  if not found or lane_count <= account.lanes then
    return account.lanes;
  end if;
  -- Again: another call may have added lanes while this one waited for the account.
  perform from account_lanes n where n.organization_id = organization order by n.lane for update;
  perform set_config('model_gateway.booking', 'on', true); -- every sum stays as it is
  if account.lanes = 1 then
    insert into account_lanes (organization_id, lane, balance, version)
    values (organization, 0, account.balance, account.version);
    insert into lane_runs (organization_id, first_place, first_seq, row_count, others_balance)
    select organization, 1, 1, account.version, 0 where account.version > 0;
    update ledger_hourly h set first_place = h.first_seq, last_place = h.last_seq where h.organization_id = organization;
  end if;
  insert into account_lanes (organization_id, lane, balance, version)
  select organization, n, 0, 0 from generate_series(account.lanes, lane_count - 1) n
   where n > 0;
  update org_account a set lanes = lane_count where a.organization_id = organization;
  perform set_config('model_gateway.booking', 'off', true);
  return account.lanes;
end $function$;
