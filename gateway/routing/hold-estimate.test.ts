import { expect, test } from 'vitest'
import type { RouteDocument } from '#cabinet/catalogue-document'
import { nanoRub } from '#cabinet/money'
import { estimateHold } from './hold-estimate.ts'

const price = {
  id: '018f4f6e-0000-7000-8000-000000000000',
  input: nanoRub(100n),
  cachedInput: nanoRub(50n),
  cacheWrite: nanoRub(125n),
  output: nanoRub(400n),
  reasoning: nanoRub(600n),
  perRequest: nanoRub(7n),
}

function routeWith(priced: RouteDocument['price']) {
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
