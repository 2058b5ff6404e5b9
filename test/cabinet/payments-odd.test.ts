import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { checkPayment } from '#cabinet/payments/internal/check-payment'
import { processNotification } from '#cabinet/payments/internal/inbox'
import { refreshPayment, settlePayment } from '#cabinet/payments/internal/settle-payment'
import { paymentJobs } from '#cabinet/payments/payment-jobs'
import { openShop } from '#cabinet/payments/shop'
import { checkInvariants } from '#core/ledger/invariants'
import { nanoRub } from '#core/ledger/money'
import { compareAll } from '../support/compare-all.ts'
import { makePayer, postAs } from '../support/payer.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { rewritingTill } from '../support/rewriting-till.ts'
import { runJob } from '../support/run-job.ts'
import { signedIn } from '../support/signed-in.ts'
import { callApi, driveTill, shopSettingsOf, testShop, tillOfThisTest } from '../support/till.ts'
import { startTestWeb } from '../support/web.ts'

// A provider that answers what its documents do not promise. No worker runs here: each test takes the steps itself.
const database = await databaseOfThisFile()
const { pool } = database
const worker = poolAs('model_gateway_worker', database)

type Json = Record<string, unknown>
type Rewrite = (object: Json, path: string) => Json

const ignore = () => undefined
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** A payment of 2000 ₽ created here, at a test payment provider whose responses can be changed at any time. */
async function begunPayment() {
  const till = await tillOfThisTest()
  const drive = driveTill(till.url)
  let rewrite: Rewrite = (object) => object
  const { apiUrl } = await rewritingTill(till, (object, path) => rewrite(object, path))
  const { shopId, secretKey } = testShop
  const shop = openShop({ url: apiUrl, shopId, secretKey, isTest: true, receipt: undefined })
  const deps = { pool: worker, shop, log }
  const { organizationId } = await signedIn(pool)
  const begin = async () => {
    const id = randomUUID()
    const { body } = await callApi(till, 'POST', '/payments', {
      body: {
        amount: { value: '2000.00', currency: 'RUB' },
        confirmation: { type: 'redirect', return_url: 'http://localhost:3000/' },
        metadata: { payment_id: id },
        capture: true,
      },
    })
    const providerId = String(body.id)
    await pool.query(
      `insert into payments (id, organization_id, user_id, amount, provider_id, next_call_at)
       select $1, organization_id, user_id, 2000000000000, $3, null from memberships where organization_id = $2`,
      [id, organizationId, providerId],
    )
    return { id, providerId, hasRefunds: false }
  }
  const payment = await begin()
  return {
    till,
    drive,
    deps,
    payment,
    organizationId,
    begin,
    answerWith: (changed: Rewrite) => {
      rewrite = changed
    },
    refresh: (of = payment) => refreshPayment(deps, of),
    compare: () => compareAll(deps, 1, new Date(Date.now() + 1_000)),
  }
}

async function differencesOf(paymentId: string) {
  const { rows } = await pool.query(
    'select kind, provider_id, ours, theirs from payment_differences where payment_id = $1 order by id',
    [paymentId],
  )
  return rows
}

async function kindsBooked(organizationId: string): Promise<string[]> {
  const { rows } = await pool.query(
    'select kind from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows.map(({ kind }) => kind)
}

const without =
  (name: string): Rewrite =>
  (object) => ({ ...object, [name]: undefined })

const different = { kind: 'answered', value: { kind: 'different' } }

test('a paid payment whose object cannot be read is put aside at once, and posted once it can be', async () => {
  const { drive, payment, organizationId, answerWith, refresh, compare } = await begunPayment()
  answerWith(without('amount'))
  expect(await refresh(), 'not paid yet').toMatchObject({ kind: 'unknown' })
  expect(await differencesOf(payment.id)).toEqual([])
  await drive.pay(payment.providerId, 'lost')
  expect(await refresh()).toEqual(different)
  await compare()
  const unreadable = {
    kind: 'unreadable',
    provider_id: payment.providerId,
    ours: 'pending',
    theirs: 'succeeded',
  }
  expect(await differencesOf(payment.id)).toEqual([unreadable])
  expect(await kindsBooked(organizationId)).toEqual([])
  answerWith((object) => object)
  await compare()
  expect(await kindsBooked(organizationId)).toEqual(['top_up', 'welcome'])
})

test('a notification of a payment that cannot be read is looked at once', async () => {
  const { drive, payment, deps, answerWith } = await begunPayment()
  await drive.pay(payment.providerId, 'lost')
  answerWith(without('test'))
  await pool.query(
    `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', 'payment.succeeded', $1, '{}')`,
    [payment.providerId],
  )
  expect(await processNotification(deps)).toBe(true)
  const { rows } = await pool.query('select outcome, attempts from webhook_inbox where object_id = $1', [
    payment.providerId,
  ])
  expect(rows).toEqual([{ outcome: 'different', attempts: 1 }])
  expect(await differencesOf(payment.id)).toMatchObject([{ kind: 'unreadable', theirs: 'succeeded' }])
})

test('one payment that cannot be read hides no other of its day', async () => {
  const { drive, payment, organizationId, begin, answerWith, compare } = await begunPayment()
  const odd = await begin()
  const unpaid = await begin()
  for (const { providerId } of [payment, odd]) await drive.pay(providerId, 'lost')
  answerWith((object) =>
    object.id === odd.providerId || object.id === unpaid.providerId ? { ...object, test: 'yes' } : object,
  )
  await compare()
  expect(await kindsBooked(organizationId)).toEqual(['top_up', 'welcome'])
  expect(await differencesOf(payment.id)).toEqual([])
  expect(await differencesOf(odd.id)).toMatchObject([{ kind: 'unreadable', theirs: 'succeeded' }])
  expect(await differencesOf(unpaid.id)).toEqual([])
})

test('a refund that the provider cancels after it had succeeded is put aside', async () => {
  const { drive, payment, organizationId, answerWith, refresh, compare } = await begunPayment()
  await drive.pay(payment.providerId, 'lost')
  await drive.refund(payment.providerId, '100.00')
  await refresh()
  const booked = ['top_up', 'welcome', 'refund']
  expect(await kindsBooked(organizationId)).toEqual(booked)
  answerWith((object) => ('payment_id' in object ? { ...object, status: 'canceled' } : object))
  await compare()
  expect(await differencesOf(payment.id)).toEqual([
    { kind: 'refund', provider_id: payment.providerId, ours: 'succeeded', theirs: 'canceled' },
  ])
  expect(await kindsBooked(organizationId)).toEqual(booked)
})

test('an amount given back without its refund is put aside, also when it is no amount', async () => {
  const { drive, payment, answerWith, refresh, compare } = await begunPayment()
  await drive.pay(payment.providerId, 'lost')
  await drive.refund(payment.providerId, '100.00')
  await refresh()
  const claim = (value: string) =>
    answerWith((object) =>
      'payment_id' in object ? object : { ...object, refunded_amount: { value, currency: 'RUB' } },
    )
  claim('100.00')
  await compare()
  expect(await differencesOf(payment.id)).toEqual([])
  claim('350.00')
  await compare()
  const unexplained = { kind: 'refund', provider_id: payment.providerId, ours: '100', theirs: '350' }
  expect(await differencesOf(payment.id)).toEqual([unexplained])
  claim('much')
  expect(await refresh()).toEqual(different)
  expect((await differencesOf(payment.id))[1]).toMatchObject({ kind: 'unreadable' })
})

test('a refund that is under way explains what was given back', async () => {
  const { drive, payment, answerWith, refresh, compare } = await begunPayment()
  await drive.pay(payment.providerId, 'lost')
  await refresh()
  await drive.set({ refunds: 'later' })
  await drive.refund(payment.providerId, '100.00')
  answerWith((object) =>
    'payment_id' in object ? object : { ...object, refunded_amount: { value: '100.00', currency: 'RUB' } },
  )
  await compare()
  expect(await differencesOf(payment.id)).toEqual([])
})

test('a payment that is answered with the id of another one is put aside and given up, never a 500', async () => {
  const { till, drive, deps, payment, answerWith } = await begunPayment()
  answerWith((object) => ({ ...object, id: payment.providerId }))
  const trusted = { ...shopSettingsOf(till), TRUSTED_PROXY_CIDRS: '127.0.0.0/8' }
  await using web = await startTestWeb(database, trusted)
  await drive.set({ notifications: 'lost' })
  const payer = await makePayer(pool)
  const answer = postAs(web, payer, '/payments', { amount_rub: '500' })
  await vi.waitFor(async () => expect(await checkPayment(deps)).toBe(true))
  const { status, body } = await answer
  expect({ status, body }).toMatchObject({
    status: 201,
    body: { status: 'canceled', confirmation_url: null, cancellation_reason: 'not_as_asked' },
  })
  expect(await differencesOf(body.id)).toEqual([
    { kind: 'provider_id', provider_id: payment.providerId, ours: 'none', theirs: payment.providerId },
  ])
})

test('a refund that has the id of another payment’s refund is put aside', async () => {
  const { drive, deps, payment, organizationId, begin, refresh } = await begunPayment()
  const other = await begin()
  for (const { providerId } of [payment, other]) await drive.pay(providerId, 'lost')
  await drive.refund(payment.providerId, '100.00')
  for (const one of [payment, other]) await refresh(one)
  const { refunds } = await drive.journal()
  const fetched = await deps.shop.provider.get(other.providerId)
  if (fetched.kind !== 'answered') throw new Error('the till does not answer')
  const refund = {
    id: refunds[0]?.id ?? '',
    payment: other.providerId,
    status: 'succeeded',
    currency: 'RUB',
    amount: nanoRub(100_000_000_000n),
    refundId: undefined,
    cancellationReason: undefined,
  } as const
  const settled = await settlePayment(deps, other.id, { payment: fetched.value, refunds: [refund] })
  expect(settled).toEqual({ kind: 'different' })
  expect(await differencesOf(other.id)).toMatchObject([{ kind: 'refund', theirs: 'of another payment' }])
  expect(await kindsBooked(organizationId)).toEqual(['top_up', 'welcome', 'refund', 'top_up'])
})

test('a comparison that failed goes on where it failed', async () => {
  const { deps } = await begunPayment()
  const { provider } = deps.shop
  const begins: number[] = []
  let failsAt = 5
  const list: typeof provider.list = async (from, to, itemsMax) => {
    begins.push(from.getTime())
    if (--failsAt === 0) return { kind: 'unknown', why: 'no answer', retryAfterMs: 0 }
    return provider.list(from, to, itemsMax)
  }
  const shop: typeof deps.shop = { ...deps.shop, provider: { ...provider, list }, until: () => shop }
  const jobs = paymentJobs({ pool: worker, registry: new Registry(), log }, shop)
  const comparison = jobs.find(({ name }) => name === 'payment_comparison')
  const runToEnd = async () => {
    while ((await runJob(comparison)) === 'more');
  }
  await expect(runToEnd()).rejects.toThrow('did not return its payments')
  await runToEnd()
  // Seven days, the fifth of which was asked for twice.
  expect(begins).toHaveLength(8)
  expect(begins.filter((begin, at) => begins.indexOf(begin) !== at)).toEqual([begins[4]])
})

test('at the end every promise about money holds', async () => {
  for (const report of await checkInvariants(pool))
    expect(report).toMatchObject({ breachCount: 0, sample: null })
})

test('a notification is one worker’s for 15 s, so a killed one causes no longer delay; then it is another’s', async () => {
  const { deps, payment, drive } = await begunPayment()
  await drive.pay(payment.providerId, 'lost')
  await pool.query(
    `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', 'payment.succeeded', $1, '{}')`,
    [payment.providerId],
  )
  const leases: number[] = []
  /** A worker that dies while it waits for the provider. */
  const get: typeof deps.shop.provider.get = async () => {
    const { rows } = await pool.query<{ leaseS: number }>(
      `select extract(epoch from next_attempt_at - clock_timestamp())::float8 as "leaseS"
         from webhook_inbox where object_id = $1`,
      [payment.providerId],
    )
    leases.push(rows[0]?.leaseS ?? 0)
    throw new Error('killed')
  }
  const dying = { ...deps, shop: { ...deps.shop, provider: { ...deps.shop.provider, get } } }
  await expect(processNotification(dying)).rejects.toThrow('killed')
  expect(leases[0]).toBeLessThanOrEqual(15)
  expect(leases[0]).toBeGreaterThan(10)
  expect(await processNotification(deps)).toBe(false)
  await pool.query(
    `update webhook_inbox set next_attempt_at = next_attempt_at - interval '15 seconds' where object_id = $1`,
    [payment.providerId],
  )
  expect(await processNotification(deps)).toBe(true)
  const { rows } = await pool.query('select status from payments where id = $1', [payment.id])
  expect(rows).toEqual([{ status: 'succeeded' }])
})
