import { expect, test } from 'vitest'
import { nanoRub } from '#core/ledger/money'
import { outcomeOfSought, outcomeToShow, shownOutcome, soughtOutcome } from '#core/ledger/request-record'
import { receiptOf } from './receipt.ts'
import type { SettledRequest } from './receipt-store.ts'

const settled: SettledRequest = {
  id: '01951234-5678-7000-8000-000000000000',
  createdAt: new Date(Date.UTC(2026, 10, 21, 9)),
  keyId: 'key',
  keyName: 'ci',
  cost: nanoRub(1_234_567_891n),
  record: {
    endpoint: 'chat',
    modelAsked: 'a/large',
    modelRan: 'a/small',
    outcome: 'completed',
    status: 200,
    errorCode: null,
    stream: true,
    priceId: 'price',
    tokens: { input: 1, cachedInput: 2, cacheWrite: 3, output: 4, reasoning: 5 },
    usageSource: 'provider',
    attempts: [
      { model: 'a/large', provider: 'a', backend: 'main', result: 'status_500', ms: 7 },
      { model: 'a/small', provider: 'a', backend: 'main', result: 'answered', ms: 8 },
    ],
    droppedParameters: ['top_k'],
    outputLimit: 512,
    firstContentMs: 6,
    totalMs: 16,
  },
  price: {
    id: 'price',
    input: nanoRub(10_000n),
    cachedInput: nanoRub(1n),
    cacheWrite: null,
    output: nanoRub(999_999_999_999_999n),
    reasoning: null,
    perRequest: nanoRub(5n),
  },
}

const renamedOutcomes = [
  ['client_disconnected', 'client_gone'],
  ['upstream_disconnected', 'upstream_cut'],
  ['hold_expired', 'swept'],
  ['not_started', 'never_started'],
] as const

test('a receipt has everything that explains a cost, to the last nano-ruble', () => {
  expect(receiptOf(settled)).toEqual({
    object: 'request',
    id: settled.id,
    created_at: '2026-11-21T09:00:00.000Z',
    api_key_id: 'key',
    endpoint: 'chat',
    api_format: 'chat_completions',
    model_asked: 'a/large',
    model_ran: 'a/small',
    outcome: 'completed',
    status: 200,
    error_code: null,
    stream: true,
    attempts: settled.record.attempts,
    dropped_params: ['top_k'],
    output_limit: 512,
    tokens: { input: 1, cached_input: 2, cache_write: 3, output: 4, reasoning: 5 },
    usage_source: 'provider',
    price: {
      id: 'price',
      currency: 'RUB',
      unit: '1M tokens',
      input: '10',
      cached_input: '0.001',
      cache_write: null,
      output: '999999999999.999',
      reasoning: null,
      per_request: '0.000000005',
    },
    cost_rub: '1.234567891',
    timings: { first_content_ms: 6, total_ms: 16 },
  })
})

test.each([
  [{ endpoint: 'chat', apiFormat: 'responses' }, 'responses'],
  [{ endpoint: 'embeddings' }, 'embeddings'],
] as const)('of %j the API is %s', (fields, api_format) => {
  expect(receiptOf({ ...settled, record: { ...settled.record, ...fields } })).toMatchObject({ api_format })
})

test('what was free or never ran has no price', () => {
  const { record } = settled
  const free = {
    ...settled,
    price: null,
    cost: nanoRub(0n),
    record: { ...record, modelRan: null, priceId: null },
  }
  expect(receiptOf(free)).toMatchObject({ price: null, cost_rub: '0', model_ran: null })
})

test('an outcome is shown by its public name, and found by it or by its old one', () => {
  for (const shown of shownOutcome.options) expect(outcomeToShow(outcomeOfSought(shown))).toBe(shown)
  for (const [shown, recorded] of renamedOutcomes) {
    expect(outcomeToShow(recorded)).toBe(shown)
    expect(outcomeOfSought(soughtOutcome.parse(shown))).toBe(recorded)
    expect(outcomeOfSought(soughtOutcome.parse(recorded))).toBe(recorded)
  }
})
