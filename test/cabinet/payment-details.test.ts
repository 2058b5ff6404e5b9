import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { formatRub, nanoRub } from '#core/ledger/money'
import { startTill } from '#standalone/yookassa/start-till'
import { listedAddress, startReceiver } from '../support/money-in.ts'
import { makePayer, type Payer, postAs } from '../support/payer.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { administrationOfThisFile, startTestWeb } from '../support/web.ts'
import { createCaller } from '../support/webhook-caller.ts'

// A shop that must issue receipts, a worker, and a web process. No notifications are sent.
const stack = await stackOfThisFile()
const { pool } = stack.database
const till = await startTill({ ...testShop, receipts: 'required' })
const drive = driveTill(till.url)
await drive.set({ notifications: 'lost' })
const shopEnv = shopSettingsOf(till)
await stack.startWorker(shopEnv)
const settings = {
  ...shopEnv,
  TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
  RECEIPT_VAT_CODE: '4',
  RECEIPT_TAX_SYSTEM_CODE: '2',
  RECEIPT_PAYMENT_SUBJECT: 'payment',
  RECEIPT_PAYMENT_MODE: 'full_payment',
  RECEIPT_INTERNET: 'false',
  RECEIPT_TIMEZONE: '2',
}
const web = await startTestWeb(stack.database, settings)
const administration = await administrationOfThisFile(stack.database, settings)
afterAll(async () => {
  await web[Symbol.asyncDispose]()
  await till.stop()
})

beforeEach(() => drive.behave())

const reason = 'asked for by the customer'

async function begin(payer: Payer, amount: string): Promise<string> {
  const { status, body } = await postAs(web, payer, '/payments', { amount_rub: amount })
  expect({ status, body }).toMatchObject({ status: 201, body: { status: 'pending' } })
  return body.id
}

const refresh = (payer: Payer, id: string) => postAs(web, payer, `/payments/${id}/refresh`)

/** A payment that has been paid and credited. */
async function topUp(payer: Payer, amount: string): Promise<string> {
  const id = await begin(payer, amount)
  const { providerId } = await rowOf('payments', id)
  await drive.pay(providerId)
  expect((await refresh(payer, id)).body).toMatchObject({ status: 'succeeded' })
  return id
}

async function giveBack(payment: string, fields: object = {}) {
  return postAs(administration, await signedInAdministrator(pool), `/admin/payments/${payment}/refunds`, {
    reason,
    ...fields,
  })
}

async function rowOf(table: 'payments' | 'refunds', id: string) {
  const { rows } = await pool.query(
    `select status, cancellation_reason as reason, provider_id as "providerId", call_body as "callBody"
       from ${table} where id = $1`,
    [id],
  )
  return rows[0]
}

/** As if a minute had passed since a call whose outcome is unknown. */
const makeCallDue = (table: 'payments' | 'refunds', id: string) =>
  pool.query(`update ${table} set next_call_at = now() where id = $1 and next_call_at is not null`, [id])

/** Lets the worker ask about it now. Answers in how many minutes it will be asked about again. */
async function pollNow(id: string): Promise<number> {
  const { rows } = await pool.query(
    'update payments set next_poll_at = now() where id = $1 and next_poll_at is not null returning polls, now()',
    [id],
  )
  const [{ polls, now }] = rows
  return vi.waitFor(async () => {
    const polled = await pollsOf(id)
    expect(polled.polls).toBe(polls + 1)
    return minutesBetween(now, polled.nextAt)
  })
}

async function pollsOf(id: string) {
  const { rows } = await pool.query(
    'select created_at as "createdAt", next_poll_at as "nextAt", polls from payments where id = $1',
    [id],
  )
  return rows[0]
}

const minutesBetween = (from: Date, to: Date) => Math.round((to.getTime() - from.getTime()) / 60_000)

async function ledgerOf({ organizationId }: Payer): Promise<string[]> {
  const { rows } = await pool.query(
    'select kind, amount from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows.map(({ kind, amount }) => `${kind} ${formatRub(nanoRub(amount))}`)
}

/** The refunds of our payment at the test payment provider. */
async function refundsAtTill(payment: string) {
  const { providerId } = await rowOf('payments', payment)
  return (await drive.journal()).refunds.filter(({ payment_id }) => payment_id === providerId)
}

/** The 54-FZ receipt of one sale, with the settings above. */
const receiptFor = ({ userId }: Payer, value: string) => ({
  customer: { email: `${userId}@example.com` },
  items: [
    {
      description: 'Пополнение баланса Model Gateway',
      quantity: 1,
      measure: 'piece',
      amount: { value, currency: 'RUB' },
      vat_code: 4,
      payment_subject: 'payment',
      payment_mode: 'full_payment',
    },
  ],
  internet: false,
  timezone: 2,
  tax_system_code: 2,
})

test('a shop that needs receipts is sent one with each payment and each part that is given back, also by the worker', async () => {
  const payer = await makePayer(pool)
  await drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'not_done' })
  const id = await begin(payer, '300.30')
  expect(JSON.parse((await rowOf('payments', id)).callBody).receipt).toEqual(receiptFor(payer, '300.30'))
  await makeCallDue('payments', id)
  const { providerId } = await vi.waitFor(async () => {
    const row = await rowOf('payments', id)
    expect(row.providerId).not.toBeNull()
    return row
  })
  await drive.pay(providerId)
  expect((await refresh(payer, id)).body).toMatchObject({ status: 'succeeded' })

  await drive.misbehave({ on: 'create_refund', answer: 'internal_error', work: 'not_done' })
  const part = await giveBack(id, { amount_rub: '100.05' })
  const { callBody } = await rowOf('refunds', part.body.id)
  expect(JSON.parse(callBody).receipt).toEqual(receiptFor(payer, '100.05'))
  await makeCallDue('refunds', part.body.id)
  await vi.waitFor(async () => expect(await ledgerOf(payer)).toEqual(['top_up 300.3', 'refund -100.05']))
  expect(await giveBack(id)).toMatchObject({
    status: 201,
    body: { status: 'succeeded', amount_rub: '200.25' },
  })
  expect(await ledgerOf(payer)).toEqual(['top_up 300.3', 'refund -100.05', 'refund -200.25'])
  expect(await refundsAtTill(id)).toMatchObject([
    { receipt_registration: 'succeeded' },
    { receipt_registration: 'succeeded' },
  ])
})

test('a payment that is given back whole takes the receipt that it had', async () => {
  const payer = await makePayer(pool)
  const id = await topUp(payer, '100')
  expect(await giveBack(id)).toMatchObject({ status: 201, body: { status: 'succeeded' } })
  expect(await refundsAtTill(id)).toMatchObject([{ receipt_registration: 'succeeded' }])
})

test('a payment without notification is polled 1, 2 and 4 minutes after its creation, then every 5 minutes', async () => {
  const payer = await makePayer(pool)
  const id = await begin(payer, '100')
  const { createdAt, nextAt, polls } = await pollsOf(id)
  expect(polls).toBe(0)
  const spans = [minutesBetween(createdAt, nextAt)]
  for (let poll = 1; poll <= 5; poll++) spans.push(await pollNow(id))
  expect(spans).toEqual([1, 1, 2, 5, 5, 5])
})

test('after 24 hours a refund is searched for in the list and never posted again', async () => {
  const payer = await makePayer(pool)
  const id = await topUp(payer, '300')
  await drive.misbehave({ on: 'create_refund', answer: 'internal_error', work: 'done' })
  const made = (await giveBack(id, { amount_rub: '100' })).body
  await drive.misbehave({ on: 'create_refund', answer: 'internal_error', work: 'not_done' })
  const never = (await giveBack(id, { amount_rub: '50' })).body
  expect([made, never]).toMatchObject([{ status: 'pending' }, { status: 'pending' }])
  for (const refund of [made, never]) {
    await pool.query("update refunds set created_at = now() - interval '24 hours' where id = $1", [refund.id])
  }
  await vi.waitFor(
    async () => {
      for (const refund of [made, never]) await makeCallDue('refunds', refund.id) // a call may get no answer in time
      expect(await rowOf('refunds', made.id)).toMatchObject({ status: 'succeeded' })
      expect(await rowOf('refunds', never.id)).toMatchObject({ status: 'canceled', providerId: null })
    },
    { interval: 1_000 },
  )
  expect(await ledgerOf(payer)).toEqual(['top_up 300', 'refund -100'])
  const [atTill] = await refundsAtTill(id)
  expect((await rowOf('refunds', made.id)).providerId).toBe(atTill?.id)
  const { requests } = await drive.journal()
  for (const refund of [made, never])
    expect(requests.filter(({ idempotenceKey }) => idempotenceKey === refund.id)).toHaveLength(1)
  // An amount that was never given back is left to give.
  expect(await giveBack(id)).toMatchObject({ status: 201, body: { status: 'succeeded', amount_rub: '200' } })
  expect(await refundsAtTill(id)).toHaveLength(2)
})

test('a waiting page polls a payment up to 20 times a minute, and then gets a time to wait', async () => {
  const payer = await makePayer(pool)
  const [id, another] = [await begin(payer, '100'), await begin(payer, '100')]
  const asked = async () =>
    (await drive.journal()).requests.filter(({ operation }) => operation === 'get_payment').length
  const before = await asked()
  for (let times = 1; times <= 20; times++) expect((await refresh(payer, id)).status).toBe(200)
  expect(await asked()).toBe(before + 20)
  const { status, body, headers } = await refresh(payer, id)
  expect({ status, code: body.code }).toEqual({ status: 429, code: 'rate_limited' })
  const waitS = Number(headers.get('retry-after'))
  expect([waitS >= 1, waitS <= 60]).toEqual([true, true])
  expect(await asked()).toBe(before + 20)
  expect((await refresh(payer, another)).status).toBe(200)
})

/** A receiver that two secrets open; answers what it has logged and how to call it. */
async function startRotatingReceiver() {
  const lines: string[] = []
  const [older, newer] = ['a', 'b'].map((letter) => letter.repeat(32))
  const env = { WEBHOOK_SECRET: `${older},${newer}` }
  const receiver = await startReceiver(stack.database, env, (line) => void lines.push(line))
  const caller = createCaller(new URL(receiver.baseUrl).origin)
  onTestFinished(async () => {
    await caller.close()
    await receiver.kill()
  })
  const notify = (objectId: string, secret = newer, from = listedAddress) =>
    caller.call({
      path: `/webhooks/yookassa?secret=${secret}`,
      from,
      body: JSON.stringify({ type: 'notification', event: 'payment.succeeded', object: { id: objectId } }),
    })
  return { older, newer, lines, notify }
}

test('while a secret is rotated a notification with the old one and one with the new one count, and no other', async () => {
  const { older, newer, notify } = await startRotatingReceiver()
  const payer = await makePayer(pool)
  for (const [index, secret] of [older, newer].entries()) {
    const { providerId } = await rowOf('payments', await begin(payer, '100'))
    await drive.pay(providerId)
    for (const wrong of ['c'.repeat(32), `${older},${newer}`])
      expect(await notify(providerId, wrong)).toBe(401)
    expect(await notify(providerId, secret)).toBe(200)
    const expected = Array.from({ length: index + 1 }, () => 'top_up 100')
    await vi.waitFor(async () => expect(await ledgerOf(payer)).toEqual(expected))
  }
})

test('all notifications rejected within a minute are logged in one line', async () => {
  const { lines, notify } = await startRotatingReceiver()
  const started = lines.length
  const refused = Array.from({ length: 100 }, (_, index) =>
    index % 2 === 0 ? notify('1', 'c'.repeat(32)) : notify('1', undefined, '127.0.0.3'),
  )
  expect(new Set(await Promise.all(refused))).toEqual(new Set([401, 403]))
  // It has logged everything by now.
  expect(await notify('1')).toBe(200)
  await vi.waitFor(() => expect(lines.length).toBeGreaterThan(started))
  expect(lines.slice(started)).toEqual([expect.stringContaining('webhook calls rejected')])
})
