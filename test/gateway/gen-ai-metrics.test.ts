import { beforeAll, expect, test, vi } from 'vitest'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { plain, streamed } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process
let customer: Customer

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
  customer = await stack.createCustomer()
})

/** Sums and counts of the series of one model, by the rest of their names. */
async function seriesOf(model: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const labels = `gen_ai_operation_name="chat",gen_ai_provider_name="scripted",gen_ai_request_model="${model}"`
  const lines = text
    .split('\n')
    .filter((line) => /^gen_ai_\w+_(?:sum|count)\{/.test(line) && line.includes(labels))
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [
        line.slice(0, at).replace(labels, '').replace('{,', '{').replace('{}', ''),
        Number(line.slice(at)),
      ]
    }),
  )
}

test("tokens, durations and first chunks are labeled by provider and model, never by the caller's input", async () => {
  const model = await stack.createModel()
  const made = 'a-name-that-a-caller-made-up'
  await untilServed(gateway, customer.key, model)
  stack.upstream.answer(
    model,
    plain('Hello there', { usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } }),
    streamed(['Hello', ' there'], { usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } }),
  )
  const messages = [{ role: 'user', content: 'x' }]
  for (const stream of [false, true])
    await (await post(gateway, customer.key, { model, messages, stream, max_tokens: 10, user: made })).text()
  await (await post(gateway, customer.key, { model: made, messages })).text()
  await vi.waitFor(async () => {
    const series = await seriesOf(model)
    expect(series).toMatchObject({
      'gen_ai_client_token_usage_sum{gen_ai_token_type="input"}': 18,
      'gen_ai_client_token_usage_count{gen_ai_token_type="input"}': 2,
      'gen_ai_client_token_usage_sum{gen_ai_token_type="output"}': 4,
      'gen_ai_client_operation_duration_seconds_count{error_type=""}': 2,
      gen_ai_client_operation_time_to_first_chunk_seconds_count: 1,
    })
  })
  expect(await (await fetch(`${gateway.adminUrl}/metrics`)).text()).not.toContain(made)
})

test('a model that left the catalog leaves the metrics, too', async () => {
  const model = await stack.createModel()
  await untilServed(gateway, customer.key, model)
  await (
    await post(gateway, customer.key, { model, messages: [{ role: 'user', content: 'x' }], max_tokens: 10 })
  ).text()
  await vi.waitFor(async () => expect(Object.keys(await seriesOf(model))).not.toEqual([]))
  await stack.database.pool.query('delete from model_routes where model = $1', [model])
  await vi.waitFor(async () => expect(await seriesOf(model)).toEqual({}))
})
