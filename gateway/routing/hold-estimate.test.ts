import { expect, test } from 'vitest'
import type { RouteDocument } from '#core/catalog/catalog-document'
import { nanoRub } from '#core/ledger/money'
import { costBound, estimateCost } from './hold-estimate.ts'
import { aRoute, type RouteFields } from './made-up-route.fixture.ts'

const price = {
  id: '018f4f6e-0000-7000-8000-000000000000',
  input: nanoRub(100n),
  cachedInput: nanoRub(50n),
  cacheWrite: nanoRub(125n),
  output: nanoRub(400n),
  reasoning: nanoRub(600n),
  perRequest: nanoRub(7n),
}

function routeWith(priced: RouteDocument['price'], limits: RouteFields = {}) {
  return aRoute('demo/echo', { price: priced, ...limits })
}

test('the bound of the prompt at its most expensive class and the request price; an output token of every choice at its own', () => {
  const size = { promptTokensMax: 10, choices: 2, outputTokensMax: 50 }
  expect(estimateCost(size, routeWith(price))).toEqual({
    tokens: 110,
    promptNano: 1250n + 7n,
    outputTokenNano: 1200n,
    output: { limit: 50 },
  })
})

test('without a limit in the request the balance decides, and TPM counts the default output', () => {
  const size = { promptTokensMax: 0, choices: 1, outputTokensMax: undefined }
  const open = { tokens: 4096, promptNano: 7n, outputTokenNano: 600n }
  expect(estimateCost(size, routeWith(price))).toEqual({
    ...open,
    output: { limit: null, usual: 4096, longest: null },
  })
  expect(estimateCost(size, routeWith(price, { maxOutputTokens: 9000 }))).toEqual({
    ...open,
    output: { limit: null, usual: 4096, longest: 9000 },
  })
})

test('no more output counts than the model can write, since no more is asked for', () => {
  const size = { promptTokensMax: 0, choices: 1, outputTokensMax: 2_000_000 }
  const route = routeWith(price, { maxOutputTokens: 100 })
  expect(estimateCost(size, route)).toMatchObject({ tokens: 100, output: { limit: 100 } })
})

test('of a model that accepts no limit its whole length counts, else its default output', () => {
  const size = { promptTokensMax: 0, choices: 1, outputTokensMax: 'unsendable' } as const
  expect(estimateCost(size, routeWith(price))).toMatchObject({ output: { limit: 4096 } })
  const known = routeWith(price, { maxOutputTokens: 9000 })
  expect(estimateCost(size, known)).toMatchObject({ output: { limit: 9000 } })
})

test('a free model costs nothing, and its tokens count all the same', () => {
  const size = { promptTokensMax: 5, choices: 1, outputTokensMax: 5 }
  expect(estimateCost(size, routeWith(null))).toMatchObject({
    tokens: 10,
    promptNano: 0n,
    outputTokenNano: 0n,
  })
})

test('absurd sizes saturate where TPM compares exactly', () => {
  const size = { promptTokensMax: 10, choices: 128, outputTokensMax: Number.MAX_SAFE_INTEGER }
  expect(estimateCost(size, routeWith(price)).tokens).toBe(Number.MAX_SAFE_INTEGER)
})

test('what a request can cost is bounded by the lowest limit there is, never by what answers usually are', () => {
  const unlimited = { promptTokensMax: 0, choices: 2, outputTokensMax: undefined }
  const boundOf = (tokens: number) => BigInt(2 * tokens) * 600n + 7n
  expect(costBound({ ...unlimited, outputTokensMax: 50 }, routeWith(price))).toBe(boundOf(50))
  expect(costBound(unlimited, routeWith(price, { maxOutputTokens: 9000 }))).toBe(boundOf(9000))
  expect(costBound(unlimited, routeWith(price, { contextLength: 8000, maxOutputTokens: 9000 }))).toBe(
    boundOf(8000),
  )
  const above = { ...unlimited, outputTokensMax: 10_000 }
  expect(costBound(above, routeWith(price, { maxOutputTokens: 9000 }))).toBe(boundOf(9000))
})

test('the price cap is held against the very prompt that is held', () => {
  const size = { promptTokensMax: 1_100, choices: 1, outputTokensMax: 1 }
  expect(costBound(size, routeWith(price))).toBe(estimateCost(size, routeWith(price)).promptNano + 600n)
})

test('what a request can cost has no bound where neither it nor its model has a limit, unless it generates nothing', () => {
  const size = { promptTokensMax: 0, choices: 1, outputTokensMax: undefined }
  expect(costBound(size, routeWith(price))).toBeUndefined()
  expect(costBound(size, routeWith(null))).toBe(0n)
  expect(costBound({ ...size, choices: 0 }, routeWith(price))).toBe(7n)
})
