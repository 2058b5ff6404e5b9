import { expect } from 'vitest'
import { checkInvariants } from '#core/ledger/invariants'
import { type Booked, readBooked } from '../chaos/books.ts'
import { type Journal, priceOf, readJournal } from './journal.ts'
import type { Call } from './load.ts'
import { paidAtTill } from './people.ts'
import { eventually, withDatabase } from './release.ts'

/** A hold of a killed gateway is settled when its lease and its deadline have passed. */
const settledWithinMs = 180_000

/** Whatever was lost or charged twice, one line each; none is what we promise. */
type Faults = readonly string[]

/**
 * Holds what clients saw and what the provider did against the ledger, once everything is settled: each whole answer is
 * charged exactly once at its price, and no request twice.
 */
export async function checkBooks(
  organization: string,
  calls: readonly Call[],
  demand: 'each asked once' | 'some may have failed',
): Promise<void> {
  const journal = await readJournal()
  if (demand === 'each asked once')
    expect(calls.filter(({ id }) => journal[id]?.begun !== 1 || journal[id].ended !== 1)).toEqual([])
  await eventually(async () => {
    const { booked, balanceNano, openingNano, broken } = await withDatabase(async (pool) => {
      const { rows } = await pool.query<{ id: string; balance: bigint; opening: bigint }>(
        `select o.id, a.balance, (select coalesce(sum(l.amount), 0)::bigint from balance_ledger l
                                   where l.organization_id = o.id and l.kind not in ('charge', 'adjust')) as opening
           from organizations o join org_account a on a.organization_id = o.id where o.name = $1`,
        [organization],
      )
      const [row] = rows
      if (row === undefined) throw new Error(`no organization ${organization}`)
      const booked = (await readBooked(pool)).filter(({ organizationId }) => organizationId === row.id)
      const broken = (await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0)
      return { booked, balanceNano: row.balance, openingNano: row.opening, broken }
    })
    expect(broken).toEqual([])
    expect(faultsOf(calls, journal, booked)).toEqual([])
    const spent = booked.reduce((sum, { costNano }) => sum + costNano, 0n)
    expect(balanceNano).toBe(openingNano - spent)
    if (demand === 'each asked once') expect(booked.length).toBe(calls.length)
  }, settledWithinMs)
}

/**
 * Compares the payments at the test payment provider with the ledger: each payment is credited exactly once.
 * @param least of them
 */
export async function checkPayments(least: number): Promise<void> {
  await eventually(async () => {
    const paid = await paidAtTill()
    expect(paid.length).toBeGreaterThanOrEqual(least)
    const { rows } = await withDatabase((pool) =>
      pool.query<{ id: string; credits: number; credited: bigint; amount: bigint }>(
        `select p.provider_id as id, p.amount, count(l.ref_id)::int as credits, coalesce(sum(l.amount), 0)::bigint as credited
           from payments p left join balance_ledger l on l.ref_id = p.id and l.kind = 'top_up'
          where p.provider_id is not null group by p.id`,
      ),
    )
    const isWhole = ({ credits, credited, amount }: (typeof rows)[number]) =>
      credits === 1 && credited === amount
    expect(rows.filter(({ credits }) => credits > 1)).toEqual([])
    expect(rows.filter(isWhole).map(({ id }) => id)).toEqual(expect.arrayContaining([...paid]))
  }, settledWithinMs)
}

/** Pure: the differences between the ledger and what happened. */
function faultsOf(calls: readonly Call[], journal: Journal, booked: readonly Booked[]): Faults {
  const byId = new Map(booked.map((row) => [row.requestId, row]))
  const faults: string[] = []
  for (const { requestId, chargeRows } of booked)
    if (chargeRows > 1) faults.push(`${requestId} was charged ${chargeRows} times`)
  for (const call of calls.filter(({ isWhole }) => isWhole)) {
    const row = byId.get(call.requestId ?? '')
    const price = priceOf(call.pieces)
    if (row === undefined) faults.push(`${call.requestId} was answered and is not in the books`)
    else if (row.costNano !== price)
      faults.push(`${call.requestId} cost ${row.costNano} instead of ${price} (${row.usageSource})`)
    if (!journal[call.id]?.ended) faults.push(`${call.id} was answered by nobody`)
  }
  const charged = booked.filter(({ costNano }) => costNano > 0n).length
  const begun = calls.reduce((sum, { id }) => sum + (journal[id]?.begun ?? 0), 0)
  if (charged > begun)
    faults.push(`${charged} requests were charged, and the provider was asked ${begun} times`)
  return faults
}
