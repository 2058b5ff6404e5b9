import { expect, test } from 'vitest'
import type { RouteDocument } from '#cabinet/catalogue/catalogue-document'
import { nanoRub } from '#cabinet/ledger/money'
import { costBound, estimateHold } from './hold-estimate.ts'

const price = {
  id: '018f4f6e-0000-7000-8000-000000000000',
  input: nanoRub(100n),
  cachedInput: nanoRub(50n),
  cacheWrite: nanoRub(125n),
  output: nanoRub(400n),
  reasoning: nanoRub(600n),
  perRequest: nanoRub(7n),
}

function routeWith(priced: RouteDocument['price'], limits: Partial<RouteDocument> = {}) {
  const document: RouteDocument = {
    model: 'demo/echo',
    type: 'chat',
    displayName: '',
    description: '',
    createdAtS: 0,
    contextLength: null,
    maxOutputTokens: null,
    defaultOutputTokens: 4096,
    backends: [{ name: 'a', provider: 'demo', model: 'echo', priority: 0, weight: 1 }],
    fallbacks: [],
    timeouts: { requestMs: 1, firstByteMs: 1, streamIdleMs: 1 },
    attempts: 1,
    parameters: { drop: [], rename: {}, defaults: {} },
    price: priced,
    organizations: null,
    ...limits,
  }
  return { document, backends: [] }
}

test('a hold is a quarter more prompt, every choice at its limit, each at its dearest class, and the request price', () => {
  const size = { promptTokens: 10, choices: 2, outputTokensMax: 50 }
  // 12.5 × 125 = 1562.5, rounded up; 2 × 50 × 600; 7
  expect(estimateHold(size, routeWith(price))).toEqual({ holdNano: 1563n + 60_000n + 7n, tokens: 110 })
})

test("without a limit in the request the route's default output is held", () => {
  const size = { promptTokens: 0, choices: 1, outputTokensMax: undefined }
  expect(estimateHold(size, routeWith(price))).toEqual({ holdNano: 4096n * 600n + 7n, tokens: 4096 })
})

test('no more output is held than the model can write, since no more is asked for', () => {
  const size = { promptTokens: 0, choices: 1, outputTokensMax: 2_000_000 }
  const route = routeWith(price, { maxOutputTokens: 100 })
  expect(estimateHold(size, route)).toEqual({ holdNano: 100n * 600n + 7n, tokens: 100 })
  const unlimited = { ...size, outputTokensMax: undefined }
  expect(estimateHold(unlimited, route)).toEqual({ holdNano: 100n * 600n + 7n, tokens: 100 })
})

test('a free model holds no money, and its tokens count all the same', () => {
  expect(estimateHold({ promptTokens: 5, choices: 1, outputTokensMax: 5 }, routeWith(null))).toEqual({
    holdNano: 0n,
    tokens: 10,
  })
})

test('absurd sizes saturate where Redis compares exactly', () => {
  const size = { promptTokens: 10, choices: 128, outputTokensMax: Number.MAX_SAFE_INTEGER }
  expect(estimateHold(size, routeWith(price))).toEqual({
    holdNano: 4_000_000_000_000_000n,
    tokens: Number.MAX_SAFE_INTEGER,
  })
})

test('what a request can cost is bounded by the lowest limit there is, never by what answers usually are', () => {
  const unlimited = { promptTokens: 0, choices: 2, outputTokensMax: undefined, unreadBytes: 0 }
  const boundOf = (tokens: number) => BigInt(2 * tokens) * 600n + 7n
  expect(costBound({ ...unlimited, outputTokensMax: 50 }, routeWith(price))).toBe(boundOf(50))
  expect(costBound(unlimited, routeWith(price, { maxOutputTokens: 9000 }))).toBe(boundOf(9000))
  expect(costBound(unlimited, routeWith(price, { contextLength: 8000, maxOutputTokens: 9000 }))).toBe(
    boundOf(8000),
  )
  const above = { ...unlimited, outputTokensMax: 10_000 }
  expect(costBound(above, routeWith(price, { maxOutputTokens: 9000 }))).toBe(boundOf(9000))
})

test('what a model may read beside the text counts a token per byte, and no prompt is longer than the context', () => {
  const size = { promptTokens: 100, choices: 1, outputTokensMax: 1 }
  const boundOf = (promptTokens: bigint) => promptTokens * 125n + 600n + 7n
  expect(costBound({ ...size, unreadBytes: 1000 }, routeWith(price))).toBe(boundOf(125n + 1000n))
  expect(costBound({ ...size, unreadBytes: 1000 }, routeWith(price, { contextLength: 500 }))).toBe(
    boundOf(500n),
  )
  expect(costBound({ ...size, unreadBytes: 0 }, routeWith(price, { contextLength: 500 }))).toBe(boundOf(125n))
  // A context is that of one text, of which an embedding has many.
  const embedding = { ...size, choices: 0, unreadBytes: 0 }
  expect(costBound(embedding, routeWith(price, { contextLength: 10 }))).toBe(125n * 125n + 7n)
})

test('what a request can cost has no bound where neither it nor its model has a limit, unless it generates nothing', () => {
  const size = { promptTokens: 0, choices: 1, outputTokensMax: undefined, unreadBytes: 0 }
  expect(costBound(size, routeWith(price))).toBeUndefined()
  expect(costBound(size, routeWith(null))).toBe(0n)
  expect(costBound({ ...size, choices: 0 }, routeWith(price))).toBe(7n)
})
