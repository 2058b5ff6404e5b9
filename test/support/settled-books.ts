import { expect, vi } from 'vitest'
import { checkInvariants } from '#core/ledger/invariants'
import type { RequestRecord } from '#core/ledger/request-record'
import type { RedisView } from './redis-view.ts'
import type { Stack } from './stack.ts'

/** One request as recorded in the ledger. */
export type Booked = {
  readonly costNano: bigint
  /** 1 at most: what was corrected later is another row. */
  readonly chargeRows: number
  readonly record: RequestRecord
}

/**
 * The ledger of an organization once all its work is done. Nothing is held, and nothing waits for Postgres.
 * Redis and Postgres agree on the balance, which is the opening one less the costs of the requests. No
 * invariant is broken.
 */
export async function settledBooks(
  stack: Stack,
  view: RedisView,
  organizationId: string,
  options: {
    readonly openingNano?: bigint
    readonly requests?: number
    /** `rest`: a request was swept whose deadline is still to come. */
    readonly held?: 'none' | 'rest'
  } = {},
): Promise<ReadonlyMap<string, Booked>> {
  const { openingNano = 100_000_000_000n, requests = 1, held = 'none' } = options
  const books = await vi.waitFor(
    async () => {
      const { balance, costs, chargeRows, records } = await stack.readBooks(organizationId)
      expect(records.size).toBe(requests)
      expect(await view.waitingCount(organizationId)).toBe(0)
      const money = await view.money(organizationId)
      expect(money).toMatchObject({ posted: balance, pending: 0n })
      expect(money.held === 0n).toBe(held === 'none')
      const spent = [...costs.values()].reduce((sum, cost) => sum + cost, 0n)
      expect(balance).toBe(openingNano - spent)
      return new Map(
        [...records].map(([id, { cost, record }]) => {
          expect(costs.get(id) ?? 0n).toBe(cost)
          return [id, { costNano: cost, chargeRows: chargeRows.get(id) ?? 0, record }]
        }),
      )
    },
    { timeout: 15_000, interval: 50 },
  )
  const broken = (await checkInvariants(stack.database.pool)).filter(({ breachCount }) => breachCount > 0)
  expect(broken).toEqual([])
  return books
}
