import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { Pool } from 'undici'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import { startAnthropic } from '../support/anthropic.ts'
import type { Customer } from '../support/customer.ts'
import { isSlowRun } from '../support/environment.ts'
import {
  chatAnswer,
  embeddingAnswer,
  messagesAnswer,
  type Report,
  responsesAnswer,
} from '../support/fuzzed-answers.ts'
import { type FuzzedRequest, fuzzedPaths, fuzzedRequests } from '../support/fuzzed-requests.ts'
import { responsesApi } from '../support/openai-responses.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { startUpstream } from '../support/upstream.ts'

const [seed, bodyCount] = isSlowRun ? [118, 8_000] : [18, 800]
/** Each sends its bodies one after the other, as a separate customer. */
const laneCount = 20

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const responses = await startUpstream({ api: responsesApi })
const anthropic = await startAnthropic()
afterAll(() => Promise.all([responses.stop(), anthropic.stop()]))
const models = {
  chat: 'fuzz/chat',
  embedding: 'fuzz/embedding',
  responses: 'fuzz/responses',
  messages: 'fuzz/messages',
}
/** Their names at the providers whose own clients are relayed. */
const relayed = { responses: 'gpt-5-codex', messages: 'claude-haiku-4-5' }
const prices = { inputNano: 1_013n, outputNano: 3_019n }
let gateway: Process
/** The cost that providers report for their responses, by the prices of the models. */
let reportedNano = 0n

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  const report: Report = (promptTokens, completionTokens) => {
    reportedNano += BigInt(promptTokens) * prices.inputNano + BigInt(completionTokens) * prices.outputNano
  }
  stack.upstream.answer(models.chat, (request) => chatAnswer(request, report))
  stack.upstream.answer(models.embedding, (request) => embeddingAnswer(request, report))
  responses.answer(relayed.responses, (request) => responsesAnswer(request, report))
  anthropic.answer(relayed.messages, (request) => messagesAnswer(request, report))
  await stack.createModel({ model: models.chat, ...prices })
  await stack.createModel({ model: models.embedding, type: 'embedding', ...prices, outputNano: 0n })
  const headers = [{ name: 'x-api-key', value: 'key-of-these-tests' }]
  const backendOf = (provider: string, model: string) => [
    { name: 'main', provider, model, priority: 0, weight: 1 },
  ]
  const openAi = await stack.createProvider({ quirks: 'openai', baseUrl: responses.url })
  const claude = await stack.createProvider({ api: 'Anthropic', headers, baseUrl: anthropic.url })
  const ofResponses = { model: models.responses, backends: backendOf(openAi, relayed.responses) }
  const ofMessages = { model: models.messages, backends: backendOf(claude, relayed.messages) }
  for (const fields of [ofResponses, ofMessages]) await stack.createModel({ ...fields, ...prices })
})

type Answered = {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/**
 * Retries once after a second, as the error advises, if the gateway could not reach Redis on a busy machine.
 */
async function send(pool: Pool, customer: Customer, request: FuzzedRequest): Promise<Answered> {
  const answer = await sendOnce(pool, customer, request)
  if (answer.status !== 503 || !answer.text.includes('cannot check API keys')) return answer
  await pause(1000 * Number(answer.headers['retry-after']))
  return await sendOnce(pool, customer, request)
}

async function sendOnce(pool: Pool, { key }: Customer, request: FuzzedRequest): Promise<Answered> {
  const { statusCode, headers, body } = await pool.request({
    path: request.path,
    method: 'POST',
    headers: { ...request.headers, authorization: `Bearer ${key}` },
    body: Buffer.from(request.body, request.encoding),
  })
  return { status: statusCode, headers, text: await body.text() }
}

function expectErrorShape(path: FuzzedRequest['path'], { status, headers, text }: Answered): void {
  expect(headers['content-type']).toBe('application/json')
  const { error, ...rest } = JSON.parse(text)
  const request_id = headers['x-gateway-request-id']
  const isMessages = path === '/v1/messages'
  expect(rest).toEqual(isMessages ? { type: 'error', request_id } : {})
  expect(error).toMatchObject({
    message: expect.stringMatching(/./),
    type: expect.stringMatching(/./),
    code: expect.stringMatching(/./),
    source: expect.stringMatching(/^(client|gateway|upstream)$/),
    ...(isMessages ? {} : { request_id }),
  })
  expect(error).toHaveProperty('param')
  expect(status, text).toBeLessThan(500)
}

type Usage = { readonly [count: string]: number } & { readonly cost_rub?: string }

/** The usage in a response; `undefined`: it was not asked for. */
function usageIn(path: FuzzedRequest['path'], { text }: Answered, isStream: boolean): Usage | undefined {
  if (!isStream) return JSON.parse(text).usage
  expect(text).not.toMatch(/^data: \{"(?:error|type":"error)"/m)
  const frames = text.split('\n\n').filter((frame) => frame !== '')
  const dataOf = (at: number) => JSON.parse(frames.at(at)?.replace(/^(?:event: .*\n)?data: /, '') ?? '')
  if (path === '/v1/messages') {
    expect(dataOf(-1)).toEqual({ type: 'message_stop' })
    return dataOf(-2).usage
  }
  expect(frames.at(-1)).toBe('data: [DONE]')
  return path === '/v1/responses' ? dataOf(-2).response.usage : dataOf(-2).usage
}

/** The cost in a response equals the cost of its usage. */
function expectExactCost(path: FuzzedRequest['path'], answer: Answered): void {
  const isStream = answer.headers['content-type'] === 'text/event-stream; charset=utf-8'
  const usage = usageIn(path, answer, isStream)
  if (isStream && !usage) return
  const { prompt_tokens = 0, completion_tokens = 0, input_tokens = 0, output_tokens = 0 } = usage ?? {}
  const { cache_read_input_tokens = 0, cache_creation_input_tokens = 0 } = usage ?? {}
  const prompt = prompt_tokens + input_tokens + cache_read_input_tokens + cache_creation_input_tokens
  const cost = findRub(String(isStream ? usage?.cost_rub : answer.headers['x-gateway-cost-rub']))
  const due =
    BigInt(prompt) * prices.inputNano + BigInt(completion_tokens + output_tokens) * prices.outputNano
  expect(cost).toBe(due)
}

test('thousands of requests, most of them odd: never 5xx, every error has the one shape, and what is charged is to the nano-ruble what the provider reported', async () => {
  const pool = new Pool(new URL(gateway.baseUrl).origin, { connections: laneCount, pipelining: 1 })
  onTestFinished(() => pool.destroy())
  const statuses = new Map<string, number>()
  const openingNano = 1_000_000_000_000n

  async function runLane(lane: number): Promise<bigint> {
    const customer = await stack.createCustomer({
      balanceNano: openingNano,
      rpm: 100_000_000,
      tpm: 2_000_000_000,
    })
    for (const model of Object.values(models)) await untilServed(gateway, customer.key, model)
    const called = new Set<string>()
    const property = fc.asyncProperty(fuzzedRequests(models), async (request) => {
      const answer = await send(pool, customer, request)
      const kind = `${answer.status} ${request.path}`
      statuses.set(kind, (statuses.get(kind) ?? 0) + 1)
      if (Number(answer.headers['x-gateway-attempts'] ?? 0) > 0)
        called.add(String(answer.headers['x-gateway-request-id']))
      if (answer.status === 200) expectExactCost(request.path, answer)
      else expectErrorShape(request.path, answer)
    })
    await fc.assert(property, { seed: seed + lane, numRuns: bodyCount / laneCount })
    const requests = await vi.waitFor(async () => {
      const { records } = await stack.readBooks(customer.organizationId)
      const uncalled = [...records].filter(([id]) => !called.has(id))
      expect(records.size - uncalled.length).toBe(called.size)
      // Redis had admitted a request, but its reply never reached the gateway; no organization was charged
      // for it.
      for (const [, { record }] of uncalled) expect(record.outcome).toBe('never_started')
      return records.size
    })
    const books = await settledBooks(stack, view, customer.organizationId, { openingNano, requests })
    return [...books.values()].reduce((sum, { costNano }) => sum + costNano, 0n)
  }

  const charged = await Promise.all(Array.from({ length: laneCount }, (_, lane) => runLane(lane)))
  expect(charged.reduce((sum, nano) => sum + nano, 0n)).toBe(reportedNano)
  // Bodies of which hardly any is served, or hardly any rejected, would prove little.
  for (const path of fuzzedPaths) {
    const [served = 0, rejected = 0] = [200, 400].map((status) => statuses.get(`${status} ${path}`))
    expect(served, path).toBeGreaterThan(bodyCount / 40)
    expect(rejected, path).toBeGreaterThan(bodyCount / 100)
  }
}, 180_000)
