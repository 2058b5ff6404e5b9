import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  type FetchedPayment,
  type FetchedRefund,
  listItemsMax,
  listTooLong,
} from '#cabinet/payments/internal/provider'
import { refreshPayment, settlePayment } from '#cabinet/payments/internal/settle-payment'
import { openShop } from '#cabinet/payments/shop'
import { checkInvariants } from '#core/ledger/invariants'
import { formatRub, nanoRub } from '#core/ledger/money'
import { compareAll } from '../support/compare-all.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { signedIn } from '../support/signed-in.ts'
import { callApi, driveTill, testShop, tillOfThisTest } from '../support/till.ts'

// No worker runs here and no notification arrives: every entry comes from a comparison.
const database = await databaseOfThisFile()
const { pool } = database
const worker = poolAs('model_gateway_worker', database)
const dayMs = 24 * 3_600_000
const days = 7

type Till = Awaited<ReturnType<typeof tillOfThisTest>>

/** A posted payment of 2000 ₽, at its own test payment provider. */
async function paidPayment() {
  const till = await tillOfThisTest()
  const drive = driveTill(till.url)
  const errors: object[] = []
  const log = { ...quiet, error: (facts: object) => void errors.push(facts) }
  const deps = { pool: worker, shop: shopAt(till), log }
  const { organizationId } = await signedIn(pool)
  const id = randomUUID()
  const providerId = await makeAtTill(till, id)
  await notePayment({ id, organizationId, amountRub: 2_000n, providerId })
  await drive.pay(providerId, 'lost')
  await refreshPayment(deps, { id, providerId, hasRefunds: false })
  const compare = (atMs: number) => compareAll(deps, days, new Date(atMs))
  return { till, drive, id, providerId, organizationId, deps, errors, compare }
}

type Noted = {
  readonly id: string
  readonly organizationId: string
  readonly amountRub: bigint
  readonly providerId: string
}

/** A payment that an organization's owner has begun. */
async function notePayment({ id, organizationId, amountRub, providerId }: Noted): Promise<void> {
  await pool.query(
    `insert into payments (id, organization_id, user_id, amount, provider_id, next_call_at)
     select $1, organization_id, user_id, $3, $4, null from memberships where organization_id = $2 and role = 'owner'`,
    [id, organizationId, rub(amountRub), providerId],
  )
}

/** A payment that the provider claims to have. */
function claimed({ id, providerId, amountRub }: Omit<Noted, 'organizationId'>): FetchedPayment {
  return {
    id: providerId,
    paymentId: id,
    status: 'succeeded',
    amount: rub(amountRub),
    currency: 'RUB',
    refunded: nanoRub(0n),
    shopId: testShop.shopId,
    isTest: true,
    isPaid: true,
    capturedAt: undefined,
    confirmationUrl: undefined,
    cancellationReason: undefined,
  }
}

const rub = (rubles: bigint) => nanoRub(rubles * 1_000_000_000n)

async function makeAtTill(till: Till, paymentId: string): Promise<string> {
  const { body } = await callApi(till, 'POST', '/payments', {
    body: {
      amount: { value: '2000.00', currency: 'RUB' },
      confirmation: { type: 'redirect', return_url: 'http://localhost:3000/' },
      metadata: { payment_id: paymentId },
      capture: true,
    },
  })
  return String(body.id)
}

function shopAt({ apiUrl }: Till) {
  const { shopId, secretKey } = testShop
  return openShop({ url: apiUrl, shopId, secretKey, isTest: true, receipt: undefined })
}

const ignore = () => undefined
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** Kinds and rubles, oldest first. */
async function ledgerOf(organizationId: string): Promise<string[]> {
  const { rows } = await pool.query(
    'select kind, amount from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows.map(({ kind, amount }) => `${kind} ${formatRub(nanoRub(amount))}`)
}

async function differencesOf(paymentId: string) {
  const { rows } = await pool.query(
    'select kind, provider_id, ours, theirs from payment_differences where payment_id = $1 order by id',
    [paymentId],
  )
  return rows
}

test('a console refund of a payment 30 days old, without notification, is posted by the comparison', async () => {
  const { drive, providerId, organizationId, id, compare } = await paidPayment()
  await drive.moveClock({ forwardMs: 30 * dayMs })
  await drive.refund(providerId, '1500.00')
  const nowMs = Date.now() + 30 * dayMs
  await compare(nowMs)
  const booked = ['top_up 2000', 'welcome 150', 'refund -1500', 'bonus_reversal -150']
  expect(await ledgerOf(organizationId)).toEqual(booked)
  await compare(nowMs)
  expect(await ledgerOf(organizationId)).toEqual(booked)
  const { rows } = await pool.query('select status, refunded from payments where id = $1', [id])
  expect(rows).toEqual([{ status: 'partially_refunded', refunded: 1_500_000_000_000n }])
  expect(await differencesOf(id)).toEqual([])
})

test('a refund of six days ago is within the comparison, one of eight is not', async () => {
  const { drive, providerId, organizationId, compare } = await paidPayment()
  await drive.refund(providerId, '500.00')
  await compare(Date.now() + 8 * dayMs)
  expect(await ledgerOf(organizationId)).toEqual(['top_up 2000', 'welcome 150'])
  await compare(Date.now() + 6 * dayMs)
  expect(await ledgerOf(organizationId)).toEqual(['top_up 2000', 'welcome 150', 'refund -500'])
})

test('a refund of a payment that was never made here is put aside with its payment', async () => {
  const { till, drive, compare } = await paidPayment()
  const stray = await makeAtTill(till, randomUUID())
  await drive.pay(stray, 'lost')
  await drive.moveClock({ forwardMs: 30 * dayMs })
  await drive.refund(stray, '1.00')
  await compare(Date.now() + 30 * dayMs)
  const { rows } = await pool.query('select kind from payment_differences where provider_id = $1', [stray])
  expect(rows).toEqual([{ kind: 'unknown_payment' }])
})

test('a refund that the provider does not have is put aside; one that it dates on another day is not', async () => {
  const { drive, providerId, organizationId, id, errors, compare } = await paidPayment()
  await drive.refund(providerId, '100.00')
  await compare(Date.now() + 1_000)
  // As if we had heard of it days later than the provider made it.
  await pool.query(`update refunds set created_at = now() + interval '10 days' where payment_id = $1`, [id])
  await compare(Date.now() + 11 * dayMs)
  expect(await differencesOf(id)).toEqual([])
  await pool.query(`update refunds set provider_id = 'lost' where payment_id = $1`, [id])
  await compare(Date.now() + 11 * dayMs)
  await compare(Date.now() + 11 * dayMs)
  const error = { kind: 'missing_refund', paymentId: id, providerId: 'lost' }
  expect(errors.filter((facts) => 'paymentId' in facts && facts.paymentId === id)).toEqual([error])
  expect(await differencesOf(id)).toEqual([
    { kind: 'missing_refund', provider_id: 'lost', ours: 'succeeded', theirs: 'none' },
  ])
  expect(await ledgerOf(organizationId)).toEqual(['top_up 2000', 'welcome 150', 'refund -100'])
})

test('a payment that is posted with another amount than was paid is put aside', async () => {
  const { till, drive, organizationId, deps, compare } = await paidPayment()
  // What a process that was taken over could do: note one amount, ask the provider for another, and post.
  const id = randomUUID()
  const providerId = await makeAtTill(till, id)
  await notePayment({ id, organizationId, amountRub: 350_000n, providerId })
  await drive.pay(providerId, 'lost')
  await settlePayment(deps, id, { payment: claimed({ id, providerId, amountRub: 350_000n }), refunds: [] })
  await compare(Date.now() + 1_000)
  expect(await differencesOf(id)).toEqual([
    { kind: 'amount', provider_id: providerId, ours: '350000', theirs: '2000' },
  ])
})

test('a payment to another shop, and one without money, are put aside though they are posted', async () => {
  const { id, providerId, deps } = await paidPayment()
  const compareAt = (shop: { shopId: string; isTest: boolean }) =>
    compareAll({ ...deps, shop: { ...deps.shop, ...shop } }, days, new Date(Date.now() + 1_000))
  const { shopId } = testShop
  await compareAt({ shopId: 'another', isTest: true })
  await compareAt({ shopId, isTest: false })
  expect(await differencesOf(id)).toEqual([
    { kind: 'shop', provider_id: providerId, ours: 'another', theirs: shopId },
    { kind: 'test', provider_id: providerId, ours: 'false', theirs: 'true' },
  ])
})

test('a payment declined without notification is canceled by the comparison', async () => {
  const { till, drive, organizationId, compare } = await paidPayment()
  const id = randomUUID()
  const providerId = await makeAtTill(till, id)
  await notePayment({ id, organizationId, amountRub: 2_000n, providerId })
  await drive.decline(providerId, 'insufficient_funds')
  await compare(Date.now() + 1_000)
  const { rows } = await pool.query('select status, cancellation_reason from payments where id = $1', [id])
  expect(rows).toEqual([{ status: 'canceled', cancellation_reason: 'insufficient_funds' }])
})

test('a refund that is posted with another amount than was given back is put aside, however old its payment is', async () => {
  const { drive, id, providerId, deps, compare } = await paidPayment()
  await drive.moveClock({ forwardMs: 30 * dayMs })
  await drive.refund(providerId, '500.00')
  const { refunds } = await drive.journal()
  const refund: FetchedRefund = {
    id: refunds[0]?.id ?? '',
    payment: providerId,
    amount: rub(1n),
    currency: 'RUB',
    status: 'succeeded',
    refundId: undefined,
    cancellationReason: undefined,
  }
  await settlePayment(deps, id, {
    payment: claimed({ id, providerId, amountRub: 2_000n }),
    refunds: [refund],
  })
  await compare(Date.now() + 30 * dayMs)
  expect(await differencesOf(id)).toEqual([
    { kind: 'refund', provider_id: providerId, ours: '1', theirs: '500' },
  ])
})

test('a refund whose payment the provider no longer has is put aside, and holds up no other', async () => {
  const { till, drive, deps, organizationId, id: goneId, providerId: gone } = await paidPayment()
  const id = randomUUID()
  const providerId = await makeAtTill(till, id)
  await notePayment({ id, organizationId, amountRub: 2_000n, providerId })
  await drive.pay(providerId, 'lost')
  await refreshPayment(deps, { id, providerId, hasRefunds: false })
  await drive.moveClock({ forwardMs: 30 * dayMs })
  // Whichever end the list begins with, one of the first is of the payment that is gone.
  for (const refunded of [gone, providerId, gone]) await drive.refund(refunded, '100.00')
  const { provider } = deps.shop
  const get: typeof provider.get = async (asked) =>
    asked === gone ? { kind: 'refused', code: 'not_found' } : provider.get(asked)
  const shop = { ...deps.shop, provider: { ...provider, get } }
  await compareAll({ ...deps, shop }, days, new Date(Date.now() + 30 * dayMs))
  expect(await ledgerOf(organizationId)).toEqual(['top_up 2000', 'welcome 150', 'top_up 2000', 'refund -100'])
  expect(await differencesOf(goneId)).toEqual([
    { kind: 'missing', provider_id: gone, ours: 'succeeded', theirs: 'none' },
  ])
})

test('a payment that the provider made on another day than we did is not missing', async () => {
  const { id, compare } = await paidPayment()
  await pool.query(`update payments set created_at = now() + interval '10 days' where id = $1`, [id])
  await compare(Date.now() + 11 * dayMs)
  expect(await differencesOf(id)).toEqual([])
})

test('a provider that cannot be asked is no reason to miss anything', async () => {
  const { drive, id, compare } = await paidPayment()
  for (const on of ['list_payments', 'list_refunds'] as const) {
    await drive.misbehave({ on, answer: 'internal_error' })
    await expect(compare(Date.now() + 1_000)).rejects.toThrow('the provider did not return')
  }
  expect(await differencesOf(id)).toEqual([])
})

test('at the end every promise about money holds', async () => {
  for (const report of await checkInvariants(pool))
    expect(report).toMatchObject({ breachCount: 0, sample: null })
})

test('a day with more payments than one list holds is compared in parts, and one that was never paid is not fetched', async () => {
  const { till, organizationId, deps, id: paid, drive, providerId: paidId } = await paidPayment()
  await drive.refund(paidId, '500.00')
  const unpaid = await Promise.all(
    [0, 1, 2]
      .map(() => randomUUID())
      .map((id) => makeAtTill(till, id).then((providerId) => ({ id, providerId }))),
  )
  for (const made of unpaid) await notePayment({ ...made, organizationId, amountRub: 2_000n })
  const { provider } = deps.shop
  const fetched: string[] = []
  const longestMs = dayMs / 5
  const spans: number[] = []
  const list: typeof provider.list = async (from, to, itemsMax) => {
    const spanMs = to.getTime() - from.getTime()
    spans.push(spanMs)
    return spanMs > longestMs
      ? { kind: 'unknown', why: listTooLong, retryAfterMs: 0 }
      : provider.list(from, to, itemsMax)
  }
  const get: typeof provider.get = (asked) => {
    fetched.push(asked)
    return provider.get(asked)
  }
  const shop = { ...deps.shop, provider: { ...provider, list, get } }
  await compareAll({ ...deps, shop }, 1, new Date(Date.now() + 1_000))
  expect(Math.max(...spans)).toBeGreaterThan(longestMs)
  expect(spans.length).toBeGreaterThan(8)
  expect(fetched).toContain(paidId)
  expect(unpaid.filter(({ providerId }) => fetched.includes(providerId))).toEqual([])
  const { rows } = await pool.query('select status from payments where id = $1', [paid])
  expect(rows).toEqual([{ status: 'partially_refunded' }])
})

test('payments that were all made within minutes are compared, though no part of their day holds fewer', async () => {
  const { deps, id, drive, providerId } = await paidPayment()
  await drive.refund(providerId, '500.00')
  const { provider } = deps.shop
  const list: typeof provider.list = async (from, to, itemsMax) =>
    itemsMax <= listItemsMax
      ? { kind: 'unknown', why: listTooLong, retryAfterMs: 0 }
      : provider.list(from, to, itemsMax)
  const shop = { ...deps.shop, provider: { ...provider, list } }
  await compareAll({ ...deps, shop }, 1, new Date(Date.now() + 1_000))
  const { rows } = await pool.query('select status from payments where id = $1', [id])
  expect(rows).toEqual([{ status: 'partially_refunded' }])
})
