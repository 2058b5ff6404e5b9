import { isArchivedCharge, lastLedgerLine } from './archived-charges.ts'

/*
 * The parts of invariants that concern accounts with several lanes (migration 0067). Each lane is a chain like the ledger of
 * an account with one lane, and the account is the sum of its lanes. Runs give every entry one place in the account's order.
 */

const lastSeqOfLane = 'first_seq_of_lane(n.lane) + (1::bigint << 48) - 2'

/** Whether a row is not the one due after the row before it in the list of its account, in which lanes follow each other. */
export const isOutOfChain = `
  (seq <> case when lane_of_seq(seq) = lane_of_seq(seq_before) then seq_before + 1
               else first_seq_of_lane(lane_of_seq(seq)) end
   or balance_after <> amount + case when lane_of_seq(seq) = lane_of_seq(seq_before) then balance_before else 0 end)`

/** `n`: the lanes of the account `a`, compared with their last rows. */
export const lanesOfAccount = `
  left join lateral (
    select sum(n.balance) as balance, sum(n.version) as version, count(*) as lane_count,
           bool_or(n.balance <> coalesce(l.balance_after, 0)) as is_off,
           bool_or(n.version <> coalesce(l.seq - first_seq_of_lane(n.lane) + 1, 0)) as is_gapped
      from account_lanes n
      left join lateral (${lastLedgerLine('n.organization_id', 'n.lane')}) l on true
     where n.organization_id = a.organization_id and a.lanes > 1) n on true
  left join lateral (select first_place + row_count - 1 as last_place from lane_runs
                      where organization_id = a.organization_id and a.lanes > 1
                      order by first_place desc limit 1) p on true`

export const isUnbalanced = '(a.balance is distinct from n.balance or n.is_off)'
export const isIncomplete = `(a.version is distinct from n.version or n.is_gapped or a.lanes <> n.lane_count
                              or a.version <> coalesce(p.last_place, 0))`

/** Runs that do not follow from those before them in their account and lane. `$1`: spans of entries. */
export const runCheck = `
  select jsonb_build_object('organization_id', r.organization_id, 'seq', r.first_seq) as thing, r.first_place
    from jsonb_to_recordset($1::jsonb) as s (organization_id uuid, first_seq bigint, last_seq bigint)
   cross join lateral (select * from lane_runs
                        where organization_id = s.organization_id
                          and first_seq between s.first_seq and s.last_seq offset 0) r
  left join lateral (select * from balance_ledger
                      where organization_id = r.organization_id and seq = r.first_seq offset 0) f on true
  left join lateral (select * from lane_runs
                      where organization_id = r.organization_id and first_place < r.first_place
                      order by first_place desc limit 1) b on true
  left join lateral (select * from balance_ledger
                      where organization_id = r.organization_id and seq = b.first_seq + b.row_count - 1 offset 0) e on true
  left join lateral (select * from lane_runs
                      where organization_id = r.organization_id and first_seq < r.first_seq
                        and first_seq >= first_seq_of_lane(lane_of_seq(r.first_seq))
                      order by first_seq desc limit 1) c on true
   where r.first_place <> coalesce(b.first_place + b.row_count, 1)
      or r.first_seq <> coalesce(c.first_seq + c.row_count, first_seq_of_lane(lane_of_seq(r.first_seq)))
      or (f.balance_after - f.amount + r.others_balance is distinct from coalesce(e.balance_after + b.others_balance, 0)
          and not ${isArchivedCharge('r.organization_id', 'r.first_seq')}
          and not ${isArchivedCharge('r.organization_id', 'b.first_seq + b.row_count - 1')})`

/** The same of all runs, and of the heads of all accounts with several lanes. */
export const wholeRunCheck = `
  select organization_id, first_seq, balance_before
    from (select r.organization_id, r.first_place, r.first_seq, f.balance_after - f.amount + r.others_balance as balance_before,
                 lag(r.first_place + r.row_count, 1, 1::bigint) over places as place_due,
                 lag(e.balance_after + r.others_balance, 1, 0::bigint) over places as balance_due,
                 lag(r.first_seq + r.row_count - 1) over places as last_seq_before,
                 lag(r.first_seq + r.row_count, 1, 1::bigint) over (partition by r.organization_id order by r.first_seq)
                   as seq_due
            from lane_runs r
            left join lateral (select * from balance_ledger
                                where organization_id = r.organization_id and seq = r.first_seq offset 0) f on true
            left join lateral (select * from balance_ledger
                                where organization_id = r.organization_id and seq = r.first_seq + r.row_count - 1 offset 0) e on true
          window places as (partition by r.organization_id order by r.first_place)) r
   where first_place <> place_due
      or (balance_before is distinct from balance_due
          and not ${isArchivedCharge('r.organization_id', 'r.first_seq')}
          and not ${isArchivedCharge('r.organization_id', 'r.last_seq_before')})
      or first_seq <> case when lane_of_seq(first_seq) = lane_of_seq(seq_due) then seq_due
                           else first_seq_of_lane(lane_of_seq(first_seq)) end
  union all
  select a.organization_id, a.version, a.balance
    from org_account a ${lanesOfAccount}
   where a.lanes > 1 and ${isIncomplete}`

/** Lanes whose balance is not the sum of their entries. */
export const wholeLaneSums = `
  select n.organization_id, n.balance, coalesce(l.total, 0)
    from account_lanes n
   cross join lateral (select sum(amount) as total
                         from (select amount from balance_ledger
                                where organization_id = n.organization_id
                                  and seq between first_seq_of_lane(n.lane) and ${lastSeqOfLane}
                               union all
                               select amount from archived_ledger
                                where organization_id = n.organization_id and lane = n.lane) e) l
   where n.balance <> coalesce(l.total, 0)
  union all
  select a.organization_id, a.balance, n.balance
    from org_account a ${lanesOfAccount}
   where a.lanes > 1 and ${isUnbalanced}`

/** The places of the entries of an hour; nulls for an account with one lane. */
export const placesOfHour = (organizationId: string, hour: string) => `
  select min(r.first_place + l.seq - r.first_seq) as first_place, max(r.first_place + l.seq - r.first_seq) as last_place
    from balance_ledger l
   cross join lateral (select first_place, first_seq from lane_runs
                        where organization_id = l.organization_id and first_seq <= l.seq
                        order by first_seq desc limit 1) r
   where l.organization_id = ${organizationId} and l.ts >= ${hour} and l.ts < ${hour} + interval '1 hour'
     and (select lanes from org_account where organization_id = ${organizationId}) > 1`

/** Whether entries of an hour have `places` outside those that the hour has. */
export const isMisplaced = (hour: string, places: string) => `
  (${places}.first_place is not null
   and (${hour}.first_place <= ${places}.first_place and ${hour}.last_place >= ${places}.last_place) is not true)`

/** Hours whose places are not those of their entries, of accounts with several lanes. */
export const wholePlacesOfHours = `
  select h.organization_id, h.hour, h.charged, null::bigint
    from org_account a
   cross join lateral (select * from ledger_hourly where organization_id = a.organization_id) h
   cross join lateral (${placesOfHour('h.organization_id', 'h.hour')}) p
   where a.lanes > 1 and ${isMisplaced('h', 'p')}`
