import { beforeAll, describe, expect, test, vi } from 'vitest'
import { findRub, nanoRub } from '#core/ledger/money'
import type { Process } from '../support/processes.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'

const stack = await stackOfThisFile()
let gateway: Process
let web: Process

beforeAll(async () => {
  await stack.startWorker()
  web = await stack.startWeb()
  gateway = await stack.startGateway({ CABINET_URL: new URL(web.baseUrl).origin })
})

const rub = 1_000_000_000n
const messages = [{ role: 'user', content: 'Say hello' }]
/** 600 ₽ per 1M tokens. */
const outputNano = 600_000n

type ErrorBody = { readonly error: Readonly<Record<string, unknown>> }

async function startCustomer(options: Parameters<typeof stack.createCustomer>[0], route: object = {}) {
  const model = await stack.createModel({ inputNano: 0n, outputNano, ...route })
  const customer = await stack.createCustomer(options)
  await untilServed(gateway, customer.key, model)
  return { model, customer }
}

/**
 * A provider that writes as many tokens as the limit allows, and one that writes `tokens` regardless of the
 * limit.
 */
function answerOf(tokens: number) {
  const usage = { prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
  return {
    headers: { 'content-type': 'application/json' },
    steps: [{ send: JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, choices, usage }) }],
  }
}

describe('a request that names its limit', () => {
  test('runs with it or is refused with what it may cost, what there is, and what would be affordable', async () => {
    const { model, customer } = await startCustomer({ balanceNano: 30n * rub })
    const refused = await post(gateway, customer.key, { model, messages, n: 128, max_tokens: 15_600 })
    expect(refused.status).toBe(402)
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect(((await refused.json()) as ErrorBody).error).toMatchObject({
      code: 'request_exceeds_balance',
      type: 'insufficient_quota',
      param: 'max_tokens',
      limit: '30',
      held: '0',
      needed: '1198.08',
      affordable_max_tokens: 390,
      message:
        "This request may cost 1198.08 ₽, more than the organization's balance: 30 ₽. Set max_tokens to 390 or less, or top up the balance in the cabinet.",
    })
    const affordable = await post(gateway, customer.key, { model, messages, n: 128, max_tokens: 390 })
    expect([affordable.status, affordable.headers.get('x-gateway-output-limit')]).toEqual([200, null])
  })

  test("beyond a key's daily budget shuts no other key out, not even one of the organization", async () => {
    const { model, customer } = await startCustomer({ dailyBudgetNano: nanoRub(rub / 100n) })
    const refused = await post(gateway, customer.key, { model, messages, max_tokens: 15_600 })
    expect(refused.status).toBe(402)
    expect(((await refused.json()) as ErrorBody).error).toMatchObject({
      code: 'request_exceeds_budget',
      limit: '0.01',
      used: '0',
      held: '0',
      needed: expect.stringMatching(/^9\.36/),
      resets_at: expect.stringMatching(/T21:00:00/),
    })
    const within = await post(gateway, customer.key, { model, messages, max_tokens: 10 })
    expect(within.status).toBe(200)
  })

  test('gets a retryable error if only running requests hold what it needs', async () => {
    const { model, customer } = await startCustomer({ balanceNano: rub })
    let finish: (value?: unknown) => void = () => undefined
    const until = new Promise((resolve) => {
      finish = resolve
    })
    stack.upstream.answer(model, { steps: [{ until }] }, answerOf(1))
    const running = post(gateway, customer.key, { model, messages, max_tokens: 1_000 })
    await vi.waitFor(() => expect(stack.upstream.requestsFor(model)).toHaveLength(1))
    const refused = await post(gateway, customer.key, { model, messages, max_tokens: 1_000 })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(((await refused.json()) as ErrorBody).error.code).toBe('balance_reserved')
    finish()
    await running
  })
})

describe('a request that names no limit', () => {
  test('holds the whole length of its model where that is an eighth of the balance at most', async () => {
    const { model, customer } = await startCustomer({ balanceNano: 100n * rub }, { maxOutputTokens: 16_384 })
    const answer = await post(gateway, customer.key, { model, messages })
    expect([answer.status, answer.headers.get('x-gateway-output-limit')]).toEqual([200, null])
    expect(stack.upstream.requestsFor(model)[0]?.body).not.toHaveProperty('max_tokens')
  })

  test.each(['plain', 'stream'] as const)(
    'else gets a limit that its balance covers, which the provider is sent, and the header and the receipt say (%s)',
    async (mode) => {
      const { model, customer } = await startCustomer({ balanceNano: rub }, { maxOutputTokens: 16_384 })
      const answer = await post(gateway, customer.key, { model, messages, stream: mode === 'stream' })
      await answer.text()
      // The usual output of the route, 1,000 tokens, is 0.6 ₽: more than an eighth, less than all.
      expect([answer.status, answer.headers.get('x-gateway-output-limit')]).toEqual([200, '1000'])
      expect(answer.headers.get('x-gateway-dropped-params')).toBe('')
      expect(stack.upstream.requestsFor(model)[0]?.body).toMatchObject({ max_tokens: 1_000 })
      const receipt = await vi.waitFor(async () => {
        const id = answer.headers.get('x-gateway-request-id')
        const response = await fetch(`${gateway.baseUrl}/requests/${id}`, {
          headers: { authorization: `Bearer ${customer.key}` },
        })
        expect(response.status).toBe(200)
        return (await response.json()) as object
      })
      expect(receipt).toMatchObject({ output_limit: 1_000 })
    },
  )

  test('is refused where not even 16 tokens are there', async () => {
    const { model, customer } = await startCustomer({ balanceNano: 15n * outputNano })
    const refused = await post(gateway, customer.key, { model, messages })
    expect(refused.status).toBe(402)
    expect(((await refused.json()) as ErrorBody).error).toMatchObject({
      code: 'request_exceeds_balance',
      affordable_max_tokens: 15,
    })
  })
})

test('what a provider writes beyond the limit that it was sent is billed as that limit', async () => {
  const { model, customer } = await startCustomer({ balanceNano: rub })
  stack.upstream.answer(model, answerOf(50_000))
  const answer = await post(gateway, customer.key, { model, messages })
  expect(answer.headers.get('x-gateway-cost-rub')).toBe('0.6')
  expect(await answer.json()).toMatchObject({ usage: { completion_tokens: 1_000, total_tokens: 1_001 } })
  const named = await post(gateway, customer.key, { model, messages, max_tokens: 100 })
  expect(named.headers.get('x-gateway-cost-rub')).toBe('0.06')
})

test('a storm of 300 requests, with limits and without, at a provider that always writes too much, overdraws nothing', async () => {
  const { model, customer } = await startCustomer({ balanceNano: 5n * rub, rpm: 100_000 })
  stack.upstream.answer(model, answerOf(50_000))
  const answers = await Promise.all(
    Array.from({ length: 300 }, async (_, n) => {
      const limits = [{}, { max_tokens: 700 }, { max_tokens: 90, n: 4 }, { max_tokens: 100_000 }][n % 4]
      const response = await post(gateway, customer.key, { model, messages, ...limits })
      const body = (await response.json()) as Partial<ErrorBody>
      const cost = findRub(response.headers.get('x-gateway-cost-rub') ?? '0') ?? 0n
      return { status: response.status, code: body.error?.code, cost }
    }),
  )
  const spent = answers.reduce((sum, { cost }) => sum + cost, 0n)
  const reasons = new Set(answers.map(({ status, code }) => (status === 200 ? 'served' : code)))
  expect([...reasons].toSorted()).toEqual(
    expect.arrayContaining(['balance_reserved', 'request_exceeds_balance', 'served']),
  )
  const books = await vi.waitFor(
    async () => {
      const books = await stack.readBooks(customer.organizationId)
      expect(books.balance).toBe(5n * rub - spent)
      return books
    },
    { timeout: 10_000, interval: 50 },
  )
  expect(books.balance).toBeGreaterThanOrEqual(0n)
  expect(books.balance).toBeLessThan(rub) // most of it could be spent
})
