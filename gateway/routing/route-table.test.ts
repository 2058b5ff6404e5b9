import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { nanoRub } from '#core/ledger/money'
import { aRoute } from './made-up-route.fixture.ts'
import { createRouteTable, pricedAt } from './route-table.ts'

function aPrice(input: bigint) {
  const none = { cachedInput: null, cacheWrite: null, reasoning: null }
  return { id: randomUUID(), input: nanoRub(input), output: nanoRub(0n), perRequest: nanoRub(0n), ...none }
}

test('a scheduled price is in force from its time on, without a new catalog, and others stay', () => {
  const [old, next, later] = [aPrice(1n), aPrice(2n), aPrice(3n)]
  const table = createRouteTable('7', [
    aRoute('a/first', { price: old, nextPrice: { fromMs: 1_000, price: next } }),
    aRoute('a/second', { price: old, nextPrice: { fromMs: 2_000, price: later } }),
    aRoute('a/third', { price: old }),
  ])
  const pricesAt = (ms: number) => pricedAt(table, ms).routes.map(({ document }) => document.price?.input)
  expect(pricedAt(table, 999)).toBe(table)
  expect(pricesAt(1_000)).toEqual([2n, 1n, 1n])
  expect(pricesAt(2_000)).toEqual([2n, 3n, 1n])
  const first = pricedAt(table, 1_000)
  expect([first.revision, first.nextPriceAtMs]).toEqual(['7', 2_000])
  expect(first.findModel('a/first')?.document.nextPrice).toBeUndefined()
  expect(pricedAt(first, 3_000).nextPriceAtMs).toBe(Number.POSITIVE_INFINITY)
})
