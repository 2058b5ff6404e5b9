import OpenAI from 'openai'
import { beforeAll, expect, test, vi } from 'vitest'
import { nanoRub } from '#core/ledger/money'
import type { Process } from '../support/processes.ts'
import type { CustomerOptions } from '../support/stack.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { pausedAnswer } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process
let model: string

beforeAll(async () => {
  model = await stack.createModel()
  await stack.startWorker()
  gateway = await stack.startGateway()
})

const messages = [{ role: 'user', content: 'Hi' }]

type Rate = { limit: number; used: number; remaining: number; resets_at: string | null }
type Report = {
  id: string
  organization_id: string
  allowed_models: readonly string[] | null
  expires_at: string | null
  rpm: Rate
  tpm: Rate
  daily_budget: { limit_rub: string | null; used_rub: string; held_rub: string; resets_at: string }
  balance?: { balance_rub: string; held_rub: string; available_rub: string }
}

async function known(options: CustomerOptions = {}) {
  const customer = await stack.createCustomer(options)
  await untilServed(gateway, customer.key, model)
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: customer.key, maxRetries: 0 })
  return { ...customer, read: () => client.get<Report>('/key') }
}

test('the official SDK reads what a key may do and has used; asking uses nothing up', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000)
  const { keyId, organizationId, key, read } = await known({
    rpm: 5,
    tpm: 9000,
    dailyBudgetNano: nanoRub(7_000_000_000n),
    allowedModels: ['test/*', 'other/one'],
    expiresAt,
  })
  expect((await post(gateway, key, { model, messages })).status).toBe(200)
  const cost = '0.00025' // 10 tokens at 10 ₽ and 5 at 30 ₽ per 1M
  const report = await read()
  expect(report).toMatchObject({
    object: 'key',
    id: keyId,
    organization_id: organizationId,
    allowed_models: ['test/*', 'other/one'],
    expires_at: expiresAt.toISOString(),
    rpm: { limit: 5, used: 1, remaining: 4 },
    tpm: { limit: 9000, used: 15, remaining: 8985 },
    daily_budget: { limit_rub: '7', used_rub: cost, held_rub: '0', remaining_rub: '6.99975' },
  })
  expect(report).not.toHaveProperty('balance')
  const resetsInMs = Date.parse(report.rpm.resets_at ?? '') - Date.now()
  expect(resetsInMs).toBeGreaterThan(30_000)
  expect(resetsInMs).toBeLessThan(62_000)
  expect((Date.parse(report.daily_budget.resets_at) + 3 * 3_600_000) % 86_400_000).toBe(0)
  for (let n = 0; n < 6; n++) await read()
  expect((await read()).rpm).toMatchObject({ used: 1 })
})

test('the amount that a running request holds is shown apart from the amount used', async () => {
  const { key, read } = await known({ readBalance: true, balanceNano: 50_000_000_000n })
  const slow = await stack.createModel()
  await untilServed(gateway, key, slow)
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(slow, answer)
  const left = new AbortController()
  const running = fetch(`${gateway.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: slow, messages, max_tokens: 100 }),
    signal: left.signal,
  }).catch(() => undefined)
  await vi.waitFor(() => expect(stack.upstream.requestsFor(slow)).toHaveLength(1))
  const { daily_budget, balance } = await read()
  expect(Number(daily_budget.held_rub)).toBeGreaterThan(0.003)
  expect(daily_budget).toMatchObject({ limit_rub: null, used_rub: '0', remaining_rub: null })
  expect(balance).toMatchObject({ balance_rub: '50', held_rub: daily_budget.held_rub })
  expect(Number(balance?.available_rub)).toBeCloseTo(50 - Number(daily_budget.held_rub), 9)
  left.abort()
  await running
  goOn()
  await vi.waitFor(async () => {
    const { balance } = await read()
    expect(balance).toMatchObject({ held_rub: '0', available_rub: balance?.balance_rub })
    expect(50 - Number(balance?.balance_rub)).toBeCloseTo(0.00025, 6) // what the provider counted
  })
})

test('a key that may do nothing reads why, and not its limits', async () => {
  const { key } = await stack.createCustomer({ balanceNano: 0n })
  await vi.waitFor(
    async () => {
      const response = await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${key}` } })
      expect(response.status).toBe(402)
      expect(await response.json()).toMatchObject({ error: { code: 'insufficient_balance' } })
    },
    { timeout: 10_000, interval: 20 },
  )
})
