import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { nanoRub } from '#core/ledger/money'
import { noTokens, type Price } from '#core/ledger/price'
import { openAiUsageOf } from '../usage.ts'
import { billOf, type Ending, nothingDelivered, nothingDue, totalOf, whyEstimated } from './bill.ts'

const price: Price = {
  id: randomUUID(),
  input: nanoRub(10n),
  cachedInput: null,
  cacheWrite: null,
  output: nanoRub(100n),
  reasoning: null,
  perRequest: nanoRub(1n),
}
const tokens = { ...noTokens, input: 7, output: 3 }
const reported = { kind: 'reported', tokens, openai: openAiUsageOf(tokens) } as const
const missing = { kind: 'missing' } as const
const untrusted = { kind: 'untrusted', why: 'negative' } as const

function bill(kind: Ending['kind'], usage: Ending['usage'], deliveredTokens: number) {
  const delivered = { output: deliveredTokens, reasoning: 0 }
  const { costNano, usageSource } = billOf(
    { kind, usage, estimatePrompt: () => 20, promptTokensMax: null, delivered, outputTokensMax: null },
    price,
  )
  return { costNano, usageSource }
}

const asReported = { costNano: 371n, usageSource: 'provider' }
const promptOnly = { costNano: 201n, usageSource: 'estimated' }
const promptAndDelivered = { costNano: 701n, usageSource: 'estimated' }

describe('the bill', () => {
  test.each([
    ['complete, usage reported', 'complete', reported, 5, asReported],
    ['complete, usage missing', 'complete', missing, 5, promptAndDelivered],
    ['complete, usage absurd', 'complete', untrusted, 5, promptAndDelivered],
    ['client left before the first content', 'client_gone', missing, 0, promptOnly],
    ['client left before the first content, usage came', 'client_gone', reported, 0, asReported],
    ['client left after some content', 'client_gone', missing, 5, promptAndDelivered],
    ['client left after some content, usage came', 'client_gone', reported, 5, asReported],
    ['its caller gave it too little time', 'out_of_time', missing, 0, promptOnly],
    ['provider cut the stream', 'upstream_cut', missing, 5, promptAndDelivered],
    ['provider cut the stream after a count', 'upstream_cut', reported, 5, promptAndDelivered],
    ['nobody answered', 'unanswered', reported, 5, { costNano: 0n, usageSource: 'none' }],
  ] as const)('%s', (_case, kind, usage, delivered, due) => {
    expect(bill(kind, usage, delivered)).toEqual(due)
  })

  test.each([
    ['complete', reported, undefined],
    ['complete', missing, 'missing'],
    ['complete', untrusted, 'untrusted'],
    ['client_gone', reported, undefined],
    ['client_gone', missing, 'client_gone'],
    ['client_gone', untrusted, 'untrusted'],
    ['out_of_time', missing, 'out_of_time'],
    ['upstream_cut', reported, 'upstream_cut'],
    ['upstream_cut', untrusted, 'upstream_cut'],
    ['unanswered', missing, undefined],
  ] as const)('%s, usage %o: why it is estimated', (kind, usage, reason) => {
    expect(whyEstimated({ kind, usage })).toBe(reason)
  })

  test('of a free model is 0, with its tokens', () => {
    const free = billOf(
      {
        kind: 'complete',
        usage: reported,
        estimatePrompt: () => 1,
        promptTokensMax: null,
        delivered: nothingDelivered,
        outputTokensMax: null,
      },
      null,
    )
    expect(free).toEqual({ tokens, costNano: 0n, usageSource: 'provider', cut: [] })
    expect(nothingDue.costNano).toBe(0n)
  })
})

describe('output beyond the limit that was sent is billed as the limit', () => {
  const many = { ...noTokens, input: 7, output: 900, reasoning: 80 }
  const usage = { kind: 'reported', tokens: many, openai: openAiUsageOf(many) } as const
  test.each([
    ["the provider's own count", usage, nothingDelivered, 100, { output: 20, reasoning: 80 }],
    ['more reasoning than the limit', usage, nothingDelivered, 50, { output: 0, reasoning: 50 }],
    ['an estimate', missing, { output: 300, reasoning: 0 }, 100, { output: 100, reasoning: 0 }],
  ] as const)('%s', (_case, read, delivered, outputTokensMax, billed) => {
    const bounds = { estimatePrompt: () => 7, promptTokensMax: null, outputTokensMax }
    const ending = { kind: 'complete', usage: read, delivered, ...bounds } as const
    expect(billOf(ending, price)).toMatchObject({ tokens: billed, cut: ['output'] })
    expect(billOf({ ...ending, outputTokensMax: 980 }, price)).toMatchObject({ cut: [] })
  })
})

describe('more prompt than the request can have is billed as its bound', () => {
  const cached = { ...noTokens, input: 50, cachedInput: 40, cacheWrite: 10, output: 3 }
  const usage = { kind: 'reported', tokens: cached, openai: openAiUsageOf(cached) } as const
  test.each([
    ["the provider's own count", usage, 70, { input: 20, cachedInput: 40, cacheWrite: 10 }, ['prompt']],
    ['more from a cache than that', usage, 45, { input: 0, cachedInput: 40, cacheWrite: 5 }, ['prompt']],
    ['as much as can be', usage, 100, { input: 50, cachedInput: 40, cacheWrite: 10 }, []],
    ['an estimate, which is no fault of a provider', missing, 5, { input: 5 }, []],
  ] as const)('%s', (_case, read, promptTokensMax, billed, cut) => {
    const bounds = { promptTokensMax, outputTokensMax: null, estimatePrompt: () => 20 }
    const ending = { kind: 'complete', usage: read, delivered: nothingDelivered, ...bounds } as const
    expect(billOf(ending, price)).toMatchObject({ tokens: billed, cut })
  })
})

test('against TPM counts every token of a request, whatever its class', () => {
  expect(totalOf({ input: 1, cachedInput: 20, cacheWrite: 300, output: 4_000, reasoning: 50_000 })).toBe(
    54_321,
  )
})
