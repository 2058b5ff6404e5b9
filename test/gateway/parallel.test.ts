import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import { isSlowRun } from '../support/environment.ts'
import type { Process } from '../support/processes.ts'
import { countTokens, post, stackOfThisFile, untilServed } from '../support/stack.ts'

const stack = await stackOfThisFile()
let gateways: readonly Process[]

beforeAll(async () => {
  await Promise.all([stack.startWorker(), stack.startWorker()])
  // On a busy machine a lease of 1 s ends before its response, which is then charged as a correction.
  const env = { LEASE_MS: '20000' }
  gateways = await Promise.all([stack.startGateway(env), stack.startGateway(env), stack.startGateway(env)])
})

const messages = [{ role: 'user', content: 'Say hello' }]

function gatewayOf(n: number): Process {
  const gateway = gateways[n % gateways.length]
  if (gateway === undefined) throw new Error('no gateway')
  return gateway
}

describe('three gateways', () => {
  test.skipIf(isSlowRun)(
    'never overdraw one balance by more than the largest hold, and charge each request once or refuse it',
    async () => {
      const nanoPerToken = 1_000_000n // 1000 ₽ per 1M tokens
      const maxTokens = 500
      const model = await stack.createModel({ inputNano: 0n, outputNano: nanoPerToken })
      const customer = await stack.createCustomer({ balanceNano: 20_000_000_000n, rpm: 100_000 })
      await Promise.all(gateways.map((gateway) => untilServed(gateway, customer.key, model)))
      stack.upstream.answer(model, ({ receivedAtMs }) =>
        usageAnswer(1 + (Math.floor(receivedAtMs * 7919) % maxTokens)),
      )

      const answers = await Promise.all(
        Array.from({ length: 300 }, async (_, n) => {
          const response = await post(gatewayOf(n), customer.key, { model, messages, max_tokens: maxTokens })
          const body = (await response.json()) as { error?: { code: string } }
          return {
            id: response.headers.get('x-gateway-request-id') ?? '',
            status: response.status,
            code: body.error?.code,
            cost: findRub(response.headers.get('x-gateway-cost-rub') ?? '0') ?? 0n,
          }
        }),
      )
      const served = answers.filter(({ status }) => status === 200)
      const refused = answers.filter(({ status }) => status !== 200)
      expect(served.length).toBeGreaterThan(30) // 20 ₽ pay for 40 holds of 0.5 ₽
      expect(refused.length).toBeGreaterThan(30)
      for (const { status, code } of refused)
        expect([
          [402, 'insufficient_balance'],
          [429, 'balance_reserved'],
          [503, 'service_unavailable'], // a machine too busy to hear Redis within 100 ms rejects, and charges nothing
        ]).toContainEqual([status, code])

      const books = await vi.waitFor(
        async () => {
          const books = await stack.readBooks(customer.organizationId)
          // A client that got 503 after the provider's response has a record, too, and paid nothing.
          expect([...books.costs.keys()].toSorted()).toEqual(served.map(({ id }) => id).toSorted())
          return books
        },
        { timeout: 10_000, interval: 50 },
      )
      for (const { id, cost } of served) {
        expect(books.costs.get(id)).toBe(cost)
        expect(books.chargeRows.get(id)).toBe(1)
      }
      const spent = served.reduce((sum, { cost }) => sum + cost, 0n)
      expect(books.balance).toBe(20_000_000_000n - spent)
      expect(books.balance).toBeGreaterThan(-(BigInt(maxTokens) * nanoPerToken))
    },
    60_000,
  )

  test.skipIf(isSlowRun)('share the counts of tokens of a key, ten for each request per minute', async () => {
    const model = await stack.createModel()
    const customer = await stack.createCustomer({ rpm: 2 })
    await Promise.all(gateways.map((gateway) => untilServed(gateway, customer.key, model)))
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => countTokens(gatewayOf(n), customer.key, { model, messages })),
    )
    const countOf = (wanted: number) => answers.filter(({ status }) => status === wanted).length
    const unheard = countOf(503) // a machine too busy to hear Redis within 100 ms
    expect(countOf(200)).toBeLessThanOrEqual(20)
    expect(countOf(200) + unheard).toBeGreaterThanOrEqual(20)
    const excess = answers.find(({ status }) => status === 429)
    expect(Number(excess?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await excess?.text()).toContain('20 counts of tokens per minute')
  })

  test.runIf(isSlowRun)(
    'let exactly the limit of a burst through, and no more in any 60 s',
    async () => {
      const limit = 40
      const model = await stack.createModel()
      const customer = await stack.createCustomer({ rpm: limit })
      // The probe that finds the model served is rejected before admission, so it uses nothing of the limit.
      await Promise.all(gateways.map((gateway) => untilServed(gateway, customer.key, model)))
      const admittedAtMs: number[] = []
      const burst = async (count: number) => {
        const statuses = await Promise.all(
          Array.from({ length: count }, async (_, n) => {
            const atMs = Date.now()
            const { status } = await post(gatewayOf(n), customer.key, { model, messages })
            if (status === 200) admittedAtMs.push(atMs)
            return status
          }),
        )
        const countOf = (wanted: number) => statuses.filter((status) => status === wanted).length
        return { served: countOf(200), unheard: countOf(503) }
      }
      const { served, unheard } = await burst(3 * limit)
      expect(served).toBeLessThanOrEqual(limit)
      expect(served + unheard).toBeGreaterThanOrEqual(limit) // a machine too busy to reach Redis returns 503
      // For a whole minute and a little more, keep knocking: what gets in must not crowd any 60 s.
      const endAtMs = Date.now() + 64_000
      while (Date.now() < endAtMs) {
        await burst(6)
        await pause(1_000) // how often is knocked, not a wait for something
      }
      expect(admittedAtMs.length).toBeGreaterThan(limit) // the window did move on
      const times = admittedAtMs.toSorted((a, b) => a - b)
      for (const [n, atMs] of times.entries()) {
        const first = times[n - limit]
        if (first !== undefined) expect(atMs - first).toBeGreaterThan(59_000) // sent a little before admitted
      }
    },
    120_000,
  )
})

function usageAnswer(completion: number) {
  const body = {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: completion, total_tokens: completion + 1 },
  }
  return {
    headers: { 'content-type': 'application/json' },
    steps: [{ waitMs: 20 }, { send: JSON.stringify(body) }],
  }
}
