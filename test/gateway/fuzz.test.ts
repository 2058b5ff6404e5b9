import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { Pool } from 'undici'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import type { Customer } from '../support/customer.ts'
import { isSlowRun } from '../support/environment.ts'
import { type FuzzedRequest, fuzzedRequests } from '../support/fuzzed-requests.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { goodStream, type Script, streamHeaders } from '../support/upstream.ts'

const [seed, bodyCount] = isSlowRun ? [118, 8_000] : [18, 2_000]
/** Each sends its bodies one after the other, as a separate customer. */
const laneCount = 20

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const models = { chat: 'fuzz/chat', embedding: 'fuzz/embedding' }
const prices = { inputNano: 1_013n, outputNano: 3_019n }
let gateway: Process
/** The cost that the provider reports for its responses, by the prices of the models. */
let reportedNano = 0n

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
  await stack.createModel({ model: models.chat, ...prices })
  await stack.createModel({ model: models.embedding, type: 'embedding', ...prices, outputNano: 0n })
  stack.upstream.answer(models.chat, (request) => chatAnswer(request))
  stack.upstream.answer(models.embedding, (request) => embeddingAnswer(request))
})

type Asked = (typeof stack.upstream.requests)[number]

/** Numbers that depend only on the request, so that a counterexample is one again. */
function drawsOf({ bodyText }: Asked): (max: number) => number {
  const digest = createHash('sha256').update(bodyText).digest()
  let at = 0
  return (max) => digest.readUInt16LE((at++ * 2) % 32) % (max + 1)
}

function report(asked: Asked, promptTokens: number, completionTokens: number): void {
  if (asked.fault !== undefined) return // then it answers 400
  reportedNano += BigInt(promptTokens) * prices.inputNano + BigInt(completionTokens) * prices.outputNano
}

const saidAtRandom = ['Hi', '', ' and so on', 'ещё', '👩‍🚀', '\u0000', '"}', 'data: [DONE]\n\n']

function chatAnswer(asked: Asked): Script {
  const { body, bodyText } = asked
  const draw = drawsOf(asked)
  const choices = Number(body.n ?? 1)
  const limit = Math.min(Number(body.max_tokens ?? 400), Number(body.max_completion_tokens ?? 400), 400)
  // Zero would be no count, of a prompt or of a response with content.
  const prompt = 1 + draw(Buffer.byteLength(bodyText) - 1)
  const completion = 1 + draw(limit * choices - 1)
  report(asked, prompt, completion)
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: draw(prompt) },
    completion_tokens_details: { reasoning_tokens: draw(completion) },
  }
  const contents = Array.from({ length: choices }, () => saidAtRandom[draw(saidAtRandom.length - 1)] ?? '')
  if (body.stream === true) {
    const { role, delta, usage: count, done } = goodStream
    const said = contents.map((content, index) => delta({ content }, { index }))
    const ends = contents.map((_, index) => delta({}, { index, finish_reason: 'stop' }))
    return { headers: streamHeaders, steps: [role, ...said, ...ends, count(usage), done] }
  }
  const whole = contents.map((content, index) => ({
    index,
    message: { role: 'assistant', content },
    finish_reason: 'stop',
  }))
  const answer = { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: whole, usage }
  return { steps: [{ send: JSON.stringify(answer) }] }
}

function embeddingAnswer(asked: Asked): Script {
  const { input, encoding_format } = asked.body
  const items = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  const embedding = encoding_format === 'base64' ? 'AACAPwAAAEA=' : [1, 2]
  const textBytes = Buffer.byteLength(items.flat().join('')) // as JSON it may have more
  const prompt = 1 + drawsOf(asked)(textBytes) // an embedding of nothing is not believed
  report(asked, prompt, 0)
  const data = items.map((_, index) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: prompt, total_tokens: prompt }
  return { steps: [{ send: JSON.stringify({ object: 'list', data, model: 'm', usage }) }] }
}

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

function expectErrorShape({ status, headers, text }: Answered): void {
  expect(headers['content-type']).toBe('application/json')
  const { error, ...rest } = JSON.parse(text)
  expect(rest).toEqual({})
  expect(error).toMatchObject({
    message: expect.stringMatching(/./),
    type: expect.stringMatching(/./),
    code: expect.stringMatching(/./),
    source: expect.stringMatching(/^(client|gateway|upstream)$/),
    request_id: headers['x-gateway-request-id'],
  })
  expect(error).toHaveProperty('param')
  expect(status, text).toBeLessThan(500)
}

/** The cost in a response equals the cost of its usage. */
function expectExactCost({ headers, text }: Answered): void {
  const isStream = headers['content-type'] === 'text/event-stream; charset=utf-8'
  if (isStream) {
    expect(text).toMatch(/data: \[DONE\]\n\n$/)
    expect(text).not.toMatch(/^data: \{"error"/m)
  }
  const last = isStream ? text.split('\n\n').at(-3)?.replace('data: ', '') : text
  const { usage } = JSON.parse(last ?? '')
  if (isStream && !usage) return // it was not asked for
  const { prompt_tokens: prompt, completion_tokens: completion = 0 } = usage
  const cost = findRub(String(isStream ? usage.cost_rub : headers['x-gateway-cost-rub']))
  expect(cost).toBe(BigInt(prompt) * prices.inputNano + BigInt(completion) * prices.outputNano)
}

test('thousands of requests, most of them odd: never 5xx, every error has the one shape, and what is charged is to the nano-ruble what the provider reported', async () => {
  const pool = new Pool(new URL(gateway.baseUrl).origin, { connections: laneCount, pipelining: 1 })
  onTestFinished(() => pool.destroy())
  const statuses = new Map<number, number>()
  const openingNano = 1_000_000_000_000n

  async function runLane(lane: number): Promise<bigint> {
    const customer = await stack.createCustomer({
      balanceNano: openingNano,
      rpm: 100_000_000,
      tpm: 2_000_000_000,
    })
    await untilServed(gateway, customer.key, models.chat)
    await untilServed(gateway, customer.key, models.embedding)
    const called = new Set<string>()
    const property = fc.asyncProperty(fuzzedRequests(models), async (request) => {
      const answer = await send(pool, customer, request)
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (Number(answer.headers['x-gateway-attempts'] ?? 0) > 0)
        called.add(String(answer.headers['x-gateway-request-id']))
      if (answer.status === 200) expectExactCost(answer)
      else expectErrorShape(answer)
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
  expect(statuses.get(200)).toBeGreaterThan(bodyCount / 4)
  expect(statuses.get(400)).toBeGreaterThan(bodyCount / 10)
}, 180_000)
