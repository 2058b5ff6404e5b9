import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { removeRoute } from '#core/catalog/catalog-store'
import type { KeyLimits } from '#core/keys/key-state'
import { revokeKey, rotateKey, setLimits } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { openStream } from '../support/chat-stream.ts'
import { type Customer, pepper } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { pausedAnswer, plain, refusal } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const { pool } = stack.database
const messages = [{ role: 'user', content: 'Say hello' }]
const inputNano = 10_000n
const outputNano = 30_000n
/** Of the 10 and 5 tokens that the provider reports. */
const paidWhole = { costNano: 10n * inputNano + 5n * outputNano, chargeRows: 1 }
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
})

async function statusOf(key: string, model: string): Promise<string> {
  const answer = await post(gateway, key, { model, messages })
  const { error } = (await answer.json()) as { readonly error?: { readonly code: string } }
  return `${answer.status} ${error?.code ?? ''}`.trim()
}

const untilStatus = (key: string, model: string, status: string) =>
  vi.waitFor(async () => expect(await statusOf(key, model)).toBe(status))

/** A stream of a new customer for a new model, whose provider has sent its first content. */
async function startStream() {
  const model = await stack.createModel({ inputNano, outputNano })
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer, plain('Hello'))
  const stream = await openStream(gateway, customer.key, model)
  return { ...customer, model, stream, goOn }
}

/** What a request was charged, once that is in Postgres. */
function bookedOf({ organizationId }: Customer, requestId: string) {
  return vi.waitFor(async () => {
    const { costs, chargeRows, records } = await stack.readBooks(organizationId)
    expect(records.has(requestId)).toBe(true)
    return { costNano: costs.get(requestId), chargeRows: chargeRows.get(requestId) }
  })
}

describe('a stream goes on to its end, and is paid once as it began, whose', () => {
  const limited = (limits: KeyLimits) => (key: Customer) =>
    inTestScope(pool, (client) => setLimits(client, key.keyId, limits))

  test.each<[string, string, (customer: Customer, model: string) => Promise<unknown>]>([
    [
      'model is gone',
      '404 model_not_found',
      (_, model) => inTestScope(pool, (client) => removeRoute(client, model)),
    ],
    [
      'key is revoked',
      '401 invalid_api_key',
      ({ keyId }) => inTestScope(pool, (client) => revokeKey(client, keyId)),
    ],
    [
      'key is rotated without a grace',
      '401 invalid_api_key',
      ({ keyId }) => inTestScope(pool, (client) => rotateKey(client, keyId, 0, pepper)),
    ],
    ['key expires', '401 expired_api_key', limited({ expiresAt: new Date(Date.now() - 1) })],
    ['key may use other models only', '403 model_not_allowed', limited({ allowedModels: ['other/*'] })],
    ['key has used its lowered rate', '429 rate_limit_exceeded', limited({ rpm: 1 })],
    [
      'key has spent its lowered budget',
      '429 daily_budget_exceeded',
      limited({ dailyBudgetNano: nanoRub(0n) }),
    ],
  ])('%s, and whoever asks next is told so', async (_, status, change) => {
    const { model, stream, goOn, ...customer } = await startStream()
    await change(customer, model)
    await untilStatus(customer.key, model, status)
    goOn()
    expect(await stream.ended).toBe('whole')
    expect(await bookedOf(customer, stream.requestId)).toEqual(paidWhole)
  })

  test('organization has no money left, and the next request gets that error', async () => {
    const { model, stream, goOn, ...customer } = await startStream()
    const amount = nanoRub(-100_000_000_000n) // all there was
    const { organizationId } = customer
    await inTestScope(pool, (client) =>
      credit(client, { organizationId, kind: 'adjustment', refId: randomUUID(), amount }),
    )
    await untilStatus(customer.key, model, '402 insufficient_balance')
    goOn()
    expect(await stream.ended).toBe('whole')
    expect(await bookedOf(customer, stream.requestId)).toEqual(paidWhole)
  })

  test('model gets another price, which only later requests pay', async () => {
    const { model, stream, goOn, ...customer } = await startStream()
    await stack.createModel({ model, inputNano: 7n * inputNano, outputNano })
    const dearer = '0.00085' // 10 tokens at 70 ₽ and 5 at 30 ₽ per 1M
    await vi.waitFor(async () => {
      const { headers } = await post(gateway, customer.key, { model, messages })
      expect(headers.get('x-gateway-cost-rub')).toBe(dearer)
    })
    goOn()
    expect(await stream.ended).toBe('whole')
    expect(await bookedOf(customer, stream.requestId)).toEqual(paidWhole)
  })
})

test('a fallback runs at the price that it had when the request was admitted', async () => {
  const other = await stack.createModel({ inputNano, outputNano })
  const model = await stack.createModel({ inputNano, outputNano, fallbacks: [other] })
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  let fail = () => {}
  const until = new Promise<void>((resolve) => {
    fail = resolve
  })
  stack.upstream.answer(model, { ...refusal(500, 'no'), status: 500, steps: [{ until }] })
  const answer = post(gateway, customer.key, { model, messages })
  await vi.waitFor(() => expect(stack.upstream.requestsFor(model)).toHaveLength(1))
  await stack.createModel({ model: other, inputNano: 7n * inputNano, outputNano })
  await vi.waitFor(async () => {
    const { headers } = await post(gateway, customer.key, { model: other, messages })
    expect(headers.get('x-gateway-cost-rub')).toBe('0.00085')
  })
  fail()
  const { status, headers } = await answer
  expect([status, headers.get('x-gateway-model'), headers.get('x-gateway-cost-rub')]).toEqual([
    200,
    other,
    '0.00025',
  ])
})
