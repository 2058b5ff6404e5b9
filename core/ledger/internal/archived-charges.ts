/*
 * The parts of invariants that concern charges that left Postgres (migration 0084). Their ranges of seqs, sums and last balances
 * are kept, so that every balance follows from the entries and ranges before it. An account may have many ranges: those of a
 * month are read only if its first and last seq, which are plain columns, leave no other choice.
 */

/** Each range of archived charges: where it begins and ends, its sum, and the balance of the lane at its end. */
const rangesOf = (archived: string) => `
  select ${archived}.organization_id, lower(u.range) as seq, upper(u.range) - 1 as last_seq,
         ${archived}.amounts[u.place] as amount, ${archived}.balances[u.place] as balance_after
    from unnest(${archived}.seqs) with ordinality u (range, place)`

/** Entries and archived ranges: each follows from the one before it. */
export const wholeLedgerLines = `
  select organization_id, seq, seq as last_seq, amount, balance_after from balance_ledger
  union all
  select r.* from archived_ledger a cross join lateral (${rangesOf('a')}) r`

/** Those of an organization that touch the seqs from `first` to `last`. */
export const ledgerLinesIn = (organizationId: string, first: string, last: string) => `
  select organization_id, seq, seq as last_seq, amount, balance_after from balance_ledger
   where organization_id = ${organizationId} and seq between ${first} and ${last}
  union all
  select r.* from archived_ledger a cross join lateral (${rangesOf('a')}) r
   where a.organization_id = ${organizationId} and a.first_seq <= ${last} and a.last_seq >= ${first}
     and a.seqs && int8range(${first}, ${last}, '[]')
     and r.seq <= ${last} and r.last_seq >= ${first}`

/** The last entry or archived range of a lane, or of an account with one. */
export const lastLedgerLine = (organizationId: string, lane?: string) => `
  select seq, balance_after
    from ((select seq, balance_after from balance_ledger
            where organization_id = ${organizationId} ${
              lane === undefined
                ? ''
                : `and seq between first_seq_of_lane(${lane}) and first_seq_of_lane(${lane}) + (1::bigint << 48) - 2`
            }
            order by seq desc limit 1)
          union all
          select last_seq, last_balance from archived_ledger
           where organization_id = ${organizationId} ${lane === undefined ? '' : `and lane = ${lane}`}) e
   order by seq desc limit 1`

/** Whether a charge with this seq left Postgres. */
export const isArchivedCharge = (organizationId: string, seq: string) => `
  exists (select from archived_ledger a
           where a.organization_id = ${organizationId} and a.first_seq <= ${seq} and a.last_seq >= ${seq} and a.seqs @> ${seq})`

/** Archived charges whose number, sum, first or last seq or last balance is not that of their ranges. */
export const isMiscounted = `
  ((a.first_seq, a.last_seq, a.last_balance)
     is distinct from (lower(a.seqs), upper(a.seqs) - 1, a.balances[cardinality(a.balances)])
   or a.amount <> (select sum(amount) from unnest(a.amounts) amount) or cardinality(a.amounts) <> cardinality(a.balances)
   or (a.entries, cardinality(a.amounts))
      <> (select sum(upper(range) - lower(range)), count(*) from unnest(a.seqs) range))`

/** Accounts whose archived charges have another sum than those of their archived hours. */
export const wholeArchivedSums = `
  select organization_id, a.amount, h.amount
    from (select organization_id, sum(amount) as amount from archived_ledger group by 1) a
    full join (select organization_id, -sum(charged) as amount from archived_ledger_hours group by 1) h using (organization_id)
   where a.amount is distinct from h.amount`

/** The same of some accounts (`$1`). */
export const archivedSumsCheck = `
  select jsonb_build_object('organization_id', t.organization_id) as thing, a.amount, h.amount as in_hours
    from unnest($1::uuid[]) t (organization_id)
   cross join lateral (select sum(amount) as amount from archived_ledger where organization_id = t.organization_id) a
   cross join lateral (select -sum(charged) as amount from archived_ledger_hours
                        where organization_id = t.organization_id) h
   where a.amount is distinct from h.amount`

/** The archived charges of accounts (`$1`) do not follow from each other and from the entries around them. */
export const archivedChainCheck = `
  select jsonb_build_object('organization_id', l.organization_id, 'seq', l.seq) as thing, l.balance_after
    from unnest($1::uuid[]) t (organization_id)
   cross join lateral (select * from archived_ledger where organization_id = t.organization_id offset 0) a
   cross join lateral (${rangesOf('a')}) l
    left join lateral (select e.balance_after from (${ledgerLinesIn('l.organization_id', 'l.seq - 1', 'l.seq - 1')}) e limit 1) b on true
   where ${isMiscounted}
      or l.balance_after <> l.amount + case when l.seq = first_seq_of_lane(lane_of_seq(l.seq)) then 0 else b.balance_after end
      or (b.balance_after is null and l.seq <> first_seq_of_lane(lane_of_seq(l.seq)))`
