import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { paymentBody, refundBody } from '#cabinet/payments/internal/call-body'
import { callPayment, callRefund } from '#cabinet/payments/internal/calls'
import { settleFetched } from '#cabinet/payments/internal/our-payment'
import { capturePayment, pollPayment } from '#cabinet/payments/internal/polls'
import { openShop } from '#cabinet/payments/shop'
import { checkInvariants } from '#core/ledger/invariants'
import { formatRub, nanoRub } from '#core/ledger/money'
import { startTill } from '#standalone/yookassa/start-till'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { signedIn } from '../support/signed-in.ts'
import { callApi, driveTill, testShop } from '../support/till.ts'

// No worker runs here and nothing is notified: each call is made by the test.
const database = await databaseOfThisFile()
const { pool } = database
const worker = poolAs('model_gateway_worker', database)
const till = await startTill({ ...testShop })
const drive = driveTill(till.url)
beforeEach(() => drive.behave())

const ignore = () => undefined
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
const deps = depsWith({})
const depsOfAnotherKey = depsWith({ secretKey: 'test_another-key' })
const depsOfALiveShop = depsWith({ isTest: false })
afterAll(async () => {
  await Promise.all([deps, depsOfAnotherKey, depsOfALiveShop].map(({ shop }) => shop.close()))
  await till.stop()
})

function depsWith(fields: { readonly url?: string; readonly secretKey?: string; readonly isTest?: boolean }) {
  const { shopId, secretKey } = testShop
  const shop = openShop({
    url: till.apiUrl,
    shopId,
    secretKey,
    isTest: true,
    receipt: undefined,
    ...fields,
  })
  return { pool: worker, shop, log }
}

const amount = nanoRub(100_000_000_000n)
const sale = { amount, email: 'payer@example.com', receipt: undefined }

/** A payment of 100 ₽ whose call has not been made yet. */
async function notedPayment(words: object = {}) {
  const { organizationId, userId } = await signedIn(pool)
  const id = randomUUID()
  const asked = JSON.parse(paymentBody({ ...sale, id, returnUrl: 'http://localhost:3000/' }))
  const callBody = JSON.stringify({ ...asked, ...words })
  await pool.query(
    `insert into payments (id, organization_id, user_id, amount, call_body) values ($1, $2, $3, $4, $5)`,
    [id, organizationId, userId, amount, callBody],
  )
  return { id, organizationId }
}

/** The full refund of a posted payment, whose call has not been made yet. */
async function notedRefund() {
  const payment = await notedPayment()
  await callPayment(deps, payment.id)
  const { provider_id: providerId } = await rowOf('payments', payment.id)
  await drive.pay(providerId, 'lost')
  await makeDue('payments', 'next_poll_at', payment.id)
  await pollPayment(deps)
  const id = randomUUID()
  const callBody = refundBody({ ...sale, id, providerId, isWhole: true })
  await pool.query(
    `insert into refunds (id, payment_id, organization_id, amount, call_body, next_call_at)
     values ($1, $2, $3, $4, $5, clock_timestamp() + interval '5 seconds')`,
    [id, payment.id, payment.organizationId, amount, callBody],
  )
  return { id, paymentId: payment.id, organizationId: payment.organizationId }
}

const noted = { payments: () => notedPayment(), refunds: notedRefund }
const callOf = { payments: callPayment, refunds: callRefund }
const operationOf = { payments: 'create_payment', refunds: 'create_refund' } as const
type Table = keyof typeof noted
const tables: readonly Table[] = ['payments', 'refunds']

async function rowOf(table: Table, id: string) {
  const { rows } = await pool.query(
    `select status, provider_id, cancellation_reason as reason, next_call_at from ${table} where id = $1`,
    [id],
  )
  return rows[0]
}

const makeDue = (table: Table, column: 'next_call_at' | 'next_poll_at', id: string) =>
  pool.query(`update ${table} set ${column} = clock_timestamp() where id = $1 and ${column} is not null`, [
    id,
  ])

/** Makes the call once more, with words that the provider refuses. */
async function callRefused(table: Table, id: string) {
  await pool.query(`update ${table} set call_body = '{}' where id = $1`, [id])
  await makeDue(table, 'next_call_at', id)
  await callOf[table](deps, id)
}

/** Kinds and rubles, oldest first. */
async function ledgerOf(organizationId: string): Promise<string[]> {
  const { rows } = await pool.query(
    'select kind, amount from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows.map(({ kind, amount }) => `${kind} ${formatRub(nanoRub(amount))}`)
}

test.each(tables)(
  'of %s, what was made behind a 500 is found though the repeated call is refused',
  async (table) => {
    const { id, organizationId } = await noted[table]()
    await drive.misbehave({ on: operationOf[table], answer: 'internal_error', work: 'done' })
    await callOf[table](deps, id)
    expect(await rowOf(table, id)).toMatchObject({ status: 'pending', provider_id: null })
    await callRefused(table, id)
    expect(await rowOf(table, id)).toMatchObject({
      status: table === 'payments' ? 'pending' : 'succeeded',
      provider_id: expect.any(String),
      reason: null,
      next_call_at: null,
    })
    expect(await ledgerOf(organizationId)).toEqual(table === 'payments' ? [] : ['top_up 100', 'refund -100'])
  },
)

test.each(tables)(
  'of %s, what was never made is canceled by a refusal, however often it was called',
  async (table) => {
    const first = await noted[table]()
    await callRefused(table, first.id)
    const twice = await noted[table]()
    await drive.misbehave({ on: operationOf[table], answer: 'internal_error', work: 'not_done' })
    await callOf[table](deps, twice.id)
    await callRefused(table, twice.id)
    for (const { id } of [first, twice])
      expect(await rowOf(table, id)).toEqual({
        status: 'canceled',
        provider_id: null,
        reason: 'invalid_request',
        next_call_at: null,
      })
  },
)

test.each(tables)('of %s, one that cannot be searched for after a refusal is called again', async (table) => {
  const { id } = await noted[table]()
  await drive.misbehave({ on: operationOf[table], answer: 'internal_error', work: 'done' })
  await callOf[table](deps, id)
  await drive.misbehave({ on: `list_${table}`, answer: 'internal_error' })
  await callRefused(table, id)
  expect(await rowOf(table, id)).toMatchObject({ status: 'pending', next_call_at: expect.any(Date) })
})

test.each(tables)(
  'of %s, one that was called with a wrong key of the shop is called again with the right one',
  async (table) => {
    const { id } = await noted[table]()
    await callOf[table](depsOfAnotherKey, id)
    expect(await rowOf(table, id)).toMatchObject({ status: 'pending', next_call_at: expect.any(Date) })
    await makeDue(table, 'next_call_at', id)
    await callOf[table](deps, id)
    expect(await rowOf(table, id)).toMatchObject({ provider_id: expect.any(String), next_call_at: null })
  },
)

const differencesOf = async (paymentId: string) =>
  (await pool.query('select kind, ours, theirs from payment_differences where payment_id = $1', [paymentId]))
    .rows

/** The test payment provider's state of our payment. */
async function fetchMade(id: string) {
  const { payments } = await drive.journal()
  const made = payments.find(({ metadata }) => metadata?.payment_id === id)
  const answer = await deps.shop.provider.get(made?.id ?? 'none')
  if (answer.kind !== 'answered') throw new Error('the till has no such payment')
  return answer.value
}

test('a payment that is made otherwise than it was asked for comes to nothing, unless it proves right', async () => {
  const { id, organizationId } = await notedPayment()
  await callPayment(depsOfALiveShop, id)
  expect(await rowOf('payments', id)).toEqual({
    status: 'canceled',
    provider_id: null,
    reason: 'not_as_asked',
    next_call_at: null,
  })
  expect(await differencesOf(id)).toEqual([{ kind: 'test', ours: 'false', theirs: 'true' }])
  const { id: providerId } = await fetchMade(id)
  await drive.pay(providerId, 'lost')
  await settleFetched(deps, await fetchMade(id))
  expect(await ledgerOf(organizationId)).toEqual(['top_up 100'])
})

test('a refund whose answer is put aside is not called for again, and is posted when it proves right', async () => {
  const { id, paymentId, organizationId } = await notedRefund()
  await callRefund(depsOfALiveShop, id)
  expect(await rowOf('refunds', id)).toEqual({
    status: 'pending',
    provider_id: null,
    reason: null,
    next_call_at: null,
  })
  expect(await differencesOf(paymentId)).toMatchObject([{ kind: 'test' }])
  expect(await ledgerOf(organizationId)).toEqual(['top_up 100'])
  await settleFetched(deps, await fetchMade(paymentId))
  expect(await ledgerOf(organizationId)).toEqual(['top_up 100', 'refund -100'])
})

test('a call of unknown outcome is repeated, even if a difference was put aside', async () => {
  const { id } = await notedPayment()
  await drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'done' })
  await callPayment(deps, id)
  await settleFetched(depsOfALiveShop, await fetchMade(id))
  expect(await rowOf('payments', id)).toMatchObject({ status: 'pending', next_call_at: expect.any(Date) })
  await makeDue('payments', 'next_call_at', id)
  await callPayment(deps, id)
  expect(await rowOf('payments', id)).toMatchObject({ provider_id: expect.any(String), next_call_at: null })
})

test('a two-stage payment canceled before its capture is canceled without a notification', async () => {
  const { id } = await notedPayment({ capture: false })
  await callPayment(deps, id)
  const { provider_id: providerId } = await rowOf('payments', id)
  await drive.pay(providerId, 'lost')
  await makeDue('payments', 'next_poll_at', id)
  await pollPayment(deps)
  expect(await rowOf('payments', id)).toMatchObject({ status: 'waiting_for_capture' })
  await drive.set({ notifications: 'lost' })
  const canceled = await callApi(till, 'POST', `/payments/${providerId}/cancel`)
  expect(canceled.status).toBe(200)
  await makeDue('payments', 'next_poll_at', id)
  expect(await capturePayment(deps)).toBe(true)
  expect(await rowOf('payments', id)).toMatchObject({ status: 'canceled', reason: 'canceled_by_merchant' })
})

test('a list that does not end is not known, instead of being cut', async () => {
  const server = createServer((_, response) => {
    response.end(JSON.stringify({ items: [], next_cursor: 'more' }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const { shop } = depsWith({ url: `http://127.0.0.1:${port}/v3` })
  onTestFinished(async () => {
    await shop.close()
    server.close()
  })
  expect(await shop.provider.list(new Date(0), new Date(), 10_000)).toMatchObject({ kind: 'unknown' })
})

test('at the end every promise about money holds', async () => {
  for (const report of await checkInvariants(pool))
    expect(report).toMatchObject({ breachCount: 0, sample: null })
})
