-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
--
-- Locks the lanes of a batch in order. No transaction adds lanes to an account while one of its lanes is locked. If lanes
-- were added while this waited, it locks those that the entries have now. If a request has several entries, the accounts are
-- locked, too: each round would lock more rows that lanes share.
CREATE OR REPLACE FUNCTION public.lock_lanes(entries jsonb, organizations uuid[], rounds bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  laned uuid[];
  lane_numbers smallint[];
  lane_counts smallint[];
begin
  loop
    select array_agg(t.organization_id), array_agg(t.lane), array_agg(t.lanes) into laned, lane_numbers, lane_counts
      from (select distinct a.organization_id, lane_of_request(e.request_id, a.lanes) as lane, a.lanes
              from jsonb_to_recordset(entries) as e (request_id uuid, organization_id uuid)
              join (select * from org_account where organization_id = any (organizations) and lanes > 1 offset 0) a
                on a.organization_id = e.organization_id) t;
    perform from unnest(laned, lane_numbers) t (organization_id, lane)
       join account_lanes n on n.organization_id = t.organization_id and n.lane = t.lane
      order by n.organization_id, n.lane for update of n;
    exit when not exists (
      select from unnest(laned, lane_counts) t (organization_id, lanes)
        join org_account a on a.organization_id = t.organization_id where a.lanes <> t.lanes);
  end loop;
  if rounds > 1 then
    perform from org_account a
      where a.organization_id = any (organizations) order by a.organization_id for update;
  end if;
end $function$;
