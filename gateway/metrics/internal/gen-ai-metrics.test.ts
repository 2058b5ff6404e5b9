import { expect, test } from 'vitest'
import { noTokens } from '#core/ledger/price'
import type { RequestRecord } from '#core/ledger/request-record'
import { createGenAiMetrics } from './gen-ai-metrics.ts'

function start() {
  const metrics = createGenAiMetrics()
  const lines = (of: RegExp) =>
    metrics
      .text()
      .split('\n')
      .filter((line) => of.test(line))
  return { metrics, lines }
}

const recordOf = (model: string, fields: Partial<RequestRecord> = {}): RequestRecord => ({
  endpoint: 'chat',
  modelAsked: 'what a caller wrote',
  modelRan: model,
  outcome: 'completed',
  status: 200,
  errorCode: null,
  stream: false,
  priceId: null,
  usageSource: 'provider',
  tokens: { ...noTokens, input: 3, cachedInput: 2, cacheWrite: 1, output: 5, reasoning: 7 },
  attempts: [{ model, provider: 'acme', backend: 'main', result: 'answered', ms: 30 }],
  droppedParameters: [],
  outputLimit: null,
  firstContentMs: null,
  totalMs: 40,
  ...fields,
})

const call = 'gen_ai_operation_name="chat",gen_ai_provider_name="acme",gen_ai_request_model="acme/m"'

test('a request counts its tokens, calls and first chunk under the names and in the buckets of the conventions', () => {
  const { metrics, lines } = start()
  metrics.follow(['acme/m'])
  const failed = { model: 'acme/m', provider: 'acme', backend: 'b', result: 'status_500', ms: 1000 }
  const record = recordOf('acme/m')
  metrics.count({ ...record, attempts: [failed, ...record.attempts] }, 15)
  expect(lines(/_sum/)).toEqual([
    `gen_ai_client_token_usage_sum{${call},gen_ai_token_type="input"} 6`,
    `gen_ai_client_token_usage_sum{${call},gen_ai_token_type="output"} 12`,
    `gen_ai_client_operation_duration_seconds_sum{${call},error_type="status_500"} 1`,
    `gen_ai_client_operation_duration_seconds_sum{${call},error_type=""} 0.03`,
    `gen_ai_client_operation_time_to_first_chunk_seconds_sum{${call}} 0.015`,
  ])
  const bounds = (name: string) =>
    lines(new RegExp(`^${name}_bucket`)).map((line) => /le="([^"]+)"/.exec(line)?.[1])
  expect(new Set(bounds('gen_ai_client_token_usage'))).toEqual(
    new Set(
      ['1', '4', '16', '64', '256', '1024', '4096', '16384', '65536', '262144', '1048576', '4194304'].concat(
        '16777216',
        '67108864',
        '+Inf',
      ),
    ),
  )
  expect(bounds('gen_ai_client_operation_time_to_first_chunk_seconds')).toEqual(
    ['0.01', '0.02', '0.04', '0.08', '0.16', '0.32', '0.64', '1.28', '2.56', '5.12', '10.24', '20.48'].concat(
      '40.96',
      '81.92',
      '+Inf',
    ),
  )
})

test('only the first 200 models by name have a label; what a caller wrote is in none', () => {
  const { metrics, lines } = start()
  const models = Array.from({ length: 300 }, (_, n) => `acme/m${String(n).padStart(3, '0')}`)
  metrics.follow(models.toReversed())
  for (const model of [...models, 'acme/gone']) metrics.count(recordOf(model), undefined)
  const counts = lines(/^gen_ai_client_operation_duration_seconds_count/)
  expect(counts).toHaveLength(201)
  expect(counts.filter((line) => line.includes('"acme/m199"'))).toHaveLength(1)
  expect(counts.filter((line) => line.includes('"acme/m200"'))).toEqual([])
  expect(counts.filter((line) => line.includes('gen_ai_request_model="other"'))).toEqual([
    expect.stringMatching(/ 101$/),
  ])
  expect(lines(/caller/)).toEqual([])
})

test('a model that leaves the catalog takes its series along; the others stay as they are', () => {
  const { metrics, lines } = start()
  metrics.follow(['acme/a', 'acme/b'])
  for (const model of ['acme/a', 'acme/b', 'acme/b']) metrics.count(recordOf(model), 15)
  metrics.follow(['acme/b', 'acme/c'])
  metrics.count(recordOf('acme/b'), 15)
  expect(lines(/acme\/a/)).toEqual([])
  expect(lines(/_first_chunk_seconds_count/)).toEqual([expect.stringMatching(/acme\/b"\} 3$/)])
})

test('a request that called no provider, or was charged nothing, counts no tokens', () => {
  const { metrics, lines } = start()
  metrics.follow(['acme/m'])
  metrics.count(recordOf('acme/m', { attempts: [], modelRan: null }), undefined)
  metrics.count(recordOf('acme/m', { tokens: noTokens }), undefined)
  expect(lines(/^gen_ai_client_token_usage_/)).toEqual([])
})
