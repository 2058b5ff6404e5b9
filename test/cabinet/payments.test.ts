import { randomUUID } from 'node:crypto'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { openShop } from '#cabinet/payments/shop'
import { checkInvariants } from '#core/ledger/invariants'
import { findRub, formatRub, nanoRub } from '#core/ledger/money'
import { startTill } from '#standalone/yookassa/start-till'
import { compareAll } from '../support/compare-all.ts'
import { listedAddress, startReceiver, webhookSecret } from '../support/money-in.ts'
import { makePayer as makePayerIn, type Payer, postAs } from '../support/payer.ts'
import { poolAs } from '../support/postgres.ts'
import { readMetric } from '../support/read-metric.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { callApi, driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { administrationOfThisFile, startTestWeb } from '../support/web.ts'

// A receiver and two workers as processes, a web server in this process, and the test payment provider, which sends
// notifications from its own address.
const listed = listedAddress
const secret = webhookSecret
const stack = await stackOfThisFile()
const { pool } = stack.database
const till = await startTill({ ...testShop, notifyFrom: listed })
const drive = driveTill(till.url)
const shopEnv = shopSettingsOf(till)
const receivers = [await startReceiver(stack.database)]
const workers = await Promise.all([stack.startWorker(shopEnv), stack.startWorker(shopEnv)])
const web = await startTestWeb(stack.database, { ...shopEnv, TRUSTED_PROXY_CIDRS: '127.0.0.0/8' })
const administration = await administrationOfThisFile(stack.database, {
  ...shopEnv,
  TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
})
afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.kill()))
  await web[Symbol.asyncDispose]()
  await till.stop()
})

const webhookOf = (index: number) =>
  `${new URL(receivers[index]?.baseUrl ?? '').origin}/webhooks/yookassa?secret=${secret}`

beforeEach(async () => {
  await drive.behave()
  await drive.set({ notifyUrl: webhookOf(0), notifications: 'sent', copies: 1, refunds: 'at_once' })
})

const makePayer = (fields: Parameters<typeof makePayerIn>[1] = {}) => makePayerIn(pool, fields)

function post(payer: Payer, path: string, body?: object | string, key?: string) {
  return postAs(web, payer, path, body, key)
}

async function begin(payer: Payer, amount: string) {
  const { status, body } = await post(payer, '/payments', { amount_rub: amount })
  expect({ status, body }).toMatchObject({ status: 201, body: { status: 'pending' } })
  return { id: body.id as string, providerId: await providerIdOf(body.id) }
}

async function providerIdOf(id: string): Promise<string> {
  const { rows } = await pool.query('select provider_id from payments where id = $1', [id])
  return rows[0]?.provider_id
}

async function statusOf(id: string): Promise<string> {
  const { rows } = await pool.query('select status from payments where id = $1', [id])
  return rows[0]?.status
}

/** Kinds and rubles, oldest first. */
async function ledgerOf({ organizationId }: { readonly organizationId: string }): Promise<string[]> {
  const { rows } = await pool.query(
    'select kind, amount from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows.map(({ kind, amount }) => `${kind} ${formatRub(nanoRub(amount))}`)
}

const untilLedger = (payer: { readonly organizationId: string }, expected: readonly string[]) =>
  vi.waitFor(async () => expect(await ledgerOf(payer)).toEqual(expected), { timeout: 10_000, interval: 50 })

/** As if its time had come. */
const makePollsDue = (id: string) =>
  pool.query('update payments set next_poll_at = now() where id = $1 and next_poll_at is not null', [id])
const makeCallsDue = (id: string) =>
  pool.query('update payments set next_call_at = now() where id = $1 and next_call_at is not null', [id])

async function paymentsAtTill(id: string) {
  const { payments } = await drive.journal()
  return payments.filter(({ metadata }) => metadata?.payment_id === id)
}

test('100 ₽ paid are 100 ₽ on the balance, within a second of the notification', async () => {
  const payer = await makePayer()
  const { id, providerId } = await begin(payer, '100.00')
  expect(await ledgerOf(payer)).toEqual([])
  await drive.pay(providerId)
  await untilLedger(payer, ['top_up 100'])
  const { body } = await web.call('GET', `/payments/${id}`, { cookie: payer.cookie })
  expect(body).toMatchObject({
    status: 'succeeded',
    amount_rub: '100',
    refunded_rub: '0',
    confirmation_url: null,
  })
})

test('after paying, the user returns to the page of that payment', async () => {
  const { id } = await begin(await makePayer(), '100')
  const [payment] = await paymentsAtTill(id)
  expect(payment?.confirmation?.return_url).toMatch(
    new RegExp(`^https?://[^/]+/app/billing/return\\?payment=${id}$`),
  )
})

test('an organization has at most 20 unpaid payments; paying one makes room', async () => {
  const payer = await makePayer()
  const { rows } = await pool.query<{ id: string }>(
    `insert into payments (id, organization_id, user_id, amount, next_call_at)
     select gen_random_uuid(), organization_id, user_id, 100000000000, null
       from memberships, generate_series(1, 20) where organization_id = $1 returning id`,
    [payer.organizationId],
  )
  const ask = () => post(payer, '/payments', { amount_rub: '100' })
  expect(await ask()).toMatchObject({ status: 409, body: { code: 'too_many_open_payments' } })
  expect((await post(await makePayer(), '/payments', { amount_rub: '100' })).status).toBe(201)
  await pool.query(`update payments set status = 'canceled' where id = $1`, [rows[0]?.id])
  expect((await ask()).status).toBe(201)
})

test('a declined payment is canceled with its reason, and posts nothing', async () => {
  const payer = await makePayer()
  const { id, providerId } = await begin(payer, '100')
  await drive.decline(providerId)
  await vi.waitFor(async () => expect(await statusOf(id)).toBe('canceled'))
  const { body } = await web.call('GET', `/payments/${id}`, { cookie: payer.cookie })
  expect(body).toMatchObject({ status: 'canceled', cancellation_reason: 'general_decline' })
  expect(await ledgerOf(payer)).toEqual([])
})

test('1000 ₽ add 1150 ₽, once per organization; what leaves less than 1000 ₽ takes the 150 ₽ back, once', async () => {
  const payer = await makePayer()
  const first = await begin(payer, '1000')
  await drive.pay(first.providerId)
  await untilLedger(payer, ['top_up 1000', 'welcome 150'])
  const second = await begin(payer, '2000')
  await drive.pay(second.providerId)
  await untilLedger(payer, ['top_up 1000', 'welcome 150', 'top_up 2000'])

  await drive.refund(first.providerId, '0.01')
  const reversed = ['top_up 1000', 'welcome 150', 'top_up 2000', 'refund -0.01', 'bonus_reversal -150']
  await untilLedger(payer, reversed)
  expect(await statusOf(first.id)).toBe('partially_refunded')
  await drive.refund(first.providerId)
  await untilLedger(payer, [...reversed, 'refund -999.99'])
  expect(await statusOf(first.id)).toBe('refunded')
})

test('the welcome bonus in /config is the bonus that is posted, from the exact kopeck', async () => {
  const { welcome } = (await web.call('GET', '/config')).body.top_up
  const payer = await makePayer()
  const tooLittle = formatRub(nanoRub((findRub(welcome.from_rub) ?? 0n) - 10_000_000n))
  await drive.pay((await begin(payer, tooLittle)).providerId)
  await untilLedger(payer, [`top_up ${tooLittle}`])
  await drive.pay((await begin(payer, welcome.from_rub)).providerId)
  await untilLedger(payer, [
    `top_up ${tooLittle}`,
    `top_up ${welcome.from_rub}`,
    `welcome ${welcome.bonus_rub}`,
  ])
})

test('a mailbox earns one welcome, whatever its organizations', async () => {
  const [one, two] = [await makePayer(), await makePayer()]
  const mailbox = `same-${randomUUID()}`
  for (const [index, { userId }] of [one, two].entries())
    await pool.query('update users set email = $2 where id = $1', [userId, `${mailbox}+${index}@example.com`])
  for (const payer of [one, two]) {
    const { providerId } = await begin(payer, '1000')
    await drive.pay(providerId)
    await untilLedger(payer, payer === one ? ['top_up 1000', 'welcome 150'] : ['top_up 1000'])
  }
})

test('without a notification a payment is credited by the page that asks, and by the poller', async () => {
  const payer = await makePayer()
  const [asked, polled] = [await begin(payer, '100'), await begin(payer, '200')]
  for (const { providerId } of [asked, polled]) await drive.pay(providerId, 'lost')
  const { body } = await post(payer, `/payments/${asked.id}/refresh`)
  expect(body).toMatchObject({ status: 'succeeded' })
  expect(await ledgerOf(payer)).toEqual(['top_up 100'])
  await makePollsDue(polled.id)
  await untilLedger(payer, ['top_up 100', 'top_up 200'])
})

test('a provider that answers 500 and has made the payment all the same has made one', async () => {
  await drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'done', times: 2 })
  const payer = await makePayer()
  const { body } = await post(payer, '/payments', { amount_rub: '100' })
  expect(body).toMatchObject({ status: 'pending', confirmation_url: null })
  await vi.waitFor(
    async () => {
      await makeCallsDue(body.id)
      expect(await providerIdOf(body.id)).toBeTruthy()
    },
    { timeout: 10_000, interval: 300 },
  )
  const made = await paymentsAtTill(body.id)
  expect(made.map(({ id }) => id)).toEqual([await providerIdOf(body.id)])
  const shown = await web.call('GET', `/payments/${body.id}`, { cookie: payer.cookie })
  expect(shown.body.confirmation_url).toContain('http')
})

test('a payment that was made behind a 500 is found by its notification before it is asked for again', async () => {
  await drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'done' })
  const payer = await makePayer()
  const { body } = await post(payer, '/payments', { amount_rub: '100' })
  const [made] = await paymentsAtTill(body.id)
  await drive.pay(made?.id ?? '')
  await untilLedger(payer, ['top_up 100'])
  expect(await paymentsAtTill(body.id)).toHaveLength(1)
})

test('202 is asked again after its time, with the same key', async () => {
  await drive.misbehave({ on: 'create_payment', answer: 'processing', retryAfterMs: 300 })
  const payer = await makePayer()
  const { body } = await post(payer, '/payments', { amount_rub: '100' })
  await vi.waitFor(async () => expect(await providerIdOf(body.id)).toBeTruthy())
  expect(await paymentsAtTill(body.id)).toHaveLength(1)
})

test('after 24 hours a payment is searched for and never posted again', async () => {
  await drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'done' })
  const payer = await makePayer()
  const found = (await post(payer, '/payments', { amount_rub: '100' })).body
  await drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'not_done' })
  const never = (await post(payer, '/payments', { amount_rub: '100' })).body
  for (const { id } of [found, never]) {
    await pool.query("update payments set created_at = now() - interval '24 hours' where id = $1", [id])
    await makeCallsDue(id)
  }
  await vi.waitFor(async () => expect(await providerIdOf(found.id)).toBeTruthy())
  await vi.waitFor(async () => expect(await statusOf(never.id)).toBe('canceled'))
  expect(await paymentsAtTill(found.id)).toHaveLength(1)
  expect(await paymentsAtTill(never.id)).toEqual([])
})

test('a comparison posts payments without notification, and puts aside those that only one side has', async () => {
  const payer = await makePayer()
  const lost = await begin(payer, '200')
  await drive.pay(lost.providerId)
  await untilLedger(payer, ['top_up 200'])
  const told = await begin(payer, '100')
  await drive.pay(told.providerId, 'lost')
  const stray = await payAtTill({})
  await pool.query("update payments set provider_id = 'lost-' || id where id = $1", [lost.id])
  const worker = poolAs('model_gateway_worker', stack.database)
  await using shop = disposableShop()
  await compareAll({ pool: worker, shop, log: quiet }, 1, new Date(Date.now() + 1_000))
  expect(await ledgerOf(payer)).toEqual(['top_up 200', 'top_up 100'])
  const { rows } = await pool.query(
    'select kind from payment_differences where provider_id = any ($1) order by 1',
    [[stray, `lost-${lost.id}`]],
  )
  expect(rows).toEqual([{ kind: 'missing' }, { kind: 'unknown_payment' }])
})

test('a payment of two stages is captured', async () => {
  const payer = await makePayer()
  const { id, providerId } = await begin(payer, '100')
  // Ours always say `capture`; as if this one had not.
  const stray = await makeAtTill({ payment_id: id })
  await pool.query('update payments set provider_id = $2 where id = $1', [id, stray])
  await drive.pay(stray)
  await untilLedger(payer, ['top_up 100'])
  expect(providerId).not.toBe(stray)
})

/** A two-stage payment that was not made here. */
async function makeAtTill(metadata: Readonly<Record<string, string>>, capture = false): Promise<string> {
  const { body } = await callApi(till, 'POST', '/payments', {
    body: {
      amount: { value: '100.00', currency: 'RUB' },
      confirmation: { type: 'redirect', return_url: 'http://localhost:3000/' },
      metadata,
      capture,
    },
  })
  return String(body.id)
}

async function payAtTill(metadata: Readonly<Record<string, string>>): Promise<string> {
  const id = await makeAtTill(metadata, true)
  await drive.pay(id, 'lost')
  return id
}

function disposableShop() {
  const { shopId, secretKey } = testShop
  const shop = openShop({ url: till.apiUrl, shopId, secretKey, isTest: true, receipt: undefined })
  return { ...shop, [Symbol.asyncDispose]: () => shop.close() }
}

const ignore = () => undefined
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore }

test.each([
  ['amount', 'update payments set amount = amount + 10000000 where id = $1'],
  ['provider_id', "update payments set provider_id = 'another-' || id where id = $1"],
])('a payment that differs by its %s is put aside, and books nothing', async (kind, sql) => {
  const payer = await makePayer()
  const { id, providerId } = await begin(payer, '100')
  await pool.query(sql, [id])
  await drive.pay(providerId)
  await vi.waitFor(async () => {
    const { rows } = await pool.query('select kind from payment_differences where provider_id = $1', [
      providerId,
    ])
    expect(rows).toEqual([{ kind }])
  })
  expect(await ledgerOf(payer)).toEqual([])
  await vi.waitFor(async () => {
    const [worker] = workers
    const found = await readMetric(worker, 'payment_differences')
    expect(found).toBeGreaterThan(0)
  }, 10_000)
})

test('an administrator gives a part back, then the rest; never more, and twice at once is one', async () => {
  const payer = await makePayer()
  const administrator = await signedInAdministrator(pool)
  const { id, providerId } = await begin(payer, '300')
  const path = `/admin/payments/${id}/refunds`
  const reason = 'asked for by the customer'
  expect((await postAs(administration, administrator, path, { reason })).body).toMatchObject({
    code: 'refund_not_possible',
  })
  await drive.pay(providerId)
  await untilLedger(payer, ['top_up 300'])
  expect((await post(payer, path, { reason })).status).toBe(404)
  const part = await postAs(administration, administrator, path, { reason, amount_rub: '100.50' })
  expect(part).toMatchObject({ status: 201, body: { status: 'succeeded', amount_rub: '100.5' } })
  expect((await postAs(administration, administrator, path, { reason, amount_rub: '200' })).status).toBe(409)
  const both = await Promise.all([1, 2].map(() => postAs(administration, administrator, path, { reason })))
  expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409])
  await untilLedger(payer, ['top_up 300', 'refund -100.5', 'refund -199.5'])
  expect(await statusOf(id)).toBe('refunded')
  for (const amount of [{}, { amount_rub: '0.01' }]) {
    const refused = await postAs(administration, administrator, path, { reason, ...amount })
    expect([refused.status, refused.body.code]).toEqual([409, 'refund_not_possible'])
  }
  const { refunds } = await drive.journal()
  expect(refunds.filter(({ payment_id }) => payment_id === providerId)).toHaveLength(2)
})

test('neither what was canceled nor what never was can be given back, nor no amount', async () => {
  const payer = await makePayer()
  const administrator = await signedInAdministrator(pool)
  const { id, providerId } = await begin(payer, '300')
  await drive.decline(providerId)
  await vi.waitFor(async () => expect(await statusOf(id)).toBe('canceled'))
  const refund = (of: string, fields: object = {}) =>
    postAs(administration, administrator, `/admin/payments/${of}/refunds`, { reason: 'a mistake', ...fields })
  expect((await refund(id)).body.code).toBe('refund_not_possible')
  expect((await refund(randomUUID())).status).toBe(404)
  expect((await refund('none')).status).toBe(404)
  for (const amount_rub of ['0', '-1', '0.001', '1e400', '100,00'])
    expect((await refund(id, { amount_rub })).status).toBe(422)
  expect((await refund(id, { reason: 'a\0b' })).status).toBe(422)
  expect(await ledgerOf(payer)).toEqual([])
})

test('a refund behind a 500 is one refund; one that is made later is posted when it is', async () => {
  const payer = await makePayer()
  const administrator = await signedInAdministrator(pool)
  const { id, providerId } = await begin(payer, '300')
  await drive.pay(providerId)
  await untilLedger(payer, ['top_up 300'])
  await drive.set({ refunds: 'later', notifications: 'lost' })
  await drive.misbehave({ on: 'create_refund', answer: 'internal_error', work: 'done' })
  const reason = 'asked for by the customer'
  const { body } = await postAs(administration, administrator, `/admin/payments/${id}/refunds`, { reason })
  expect(body).toMatchObject({ status: 'pending' })
  await pool.query('update refunds set next_call_at = now() where id = $1', [body.id])
  const refund = await vi.waitFor(async () => {
    const { rows } = await pool.query('select provider_id from refunds where id = $1', [body.id])
    expect(rows[0]?.provider_id).toBeTruthy()
    return rows[0]?.provider_id as string
  })
  expect(await ledgerOf(payer)).toEqual(['top_up 300'])
  await drive.finishRefund(refund, 'succeeded')
  await makePollsDue(id)
  await untilLedger(payer, ['top_up 300', 'refund -300'])
})

test.each([
  '"99.99"',
  '"350000.01"',
  '"100.001"',
  '"-100"',
  '"-0"',
  '"1e400"',
  '"1e3"',
  '"100,00"',
  '""',
  '" 100"',
  '"+100"',
  '"0x64"',
  '"NaN"',
  '"100."',
  '"१००"',
  '"99999999999"',
  '1e400',
  '100',
  'null',
  '["100"]',
])('%s is no amount to pay: nothing is noted or asked for', async (amount) => {
  const payer = await makePayer()
  const { requests } = await drive.journal()
  const { status, body } = await post(payer, '/payments', `{"amount_rub":${amount}}`)
  expect({ status, code: body.code }).toEqual({ status: 422, code: 'validation_failed' })
  const { rowCount } = await pool.query('select from payments where user_id = $1', [payer.userId])
  expect(rowCount).toBe(0)
  const asked = (await drive.journal()).requests.slice(requests.length)
  expect(asked.map(({ operation }) => operation)).not.toContain('create_payment')
})

test('a double click makes one payment; a payment of others is not there', async () => {
  const [payer, stranger] = [await makePayer(), await makePayer()]
  const key = randomUUID()
  const both = await Promise.all([1, 2].map(() => post(payer, '/payments', { amount_rub: '100' }, key)))
  expect(both.map(({ status }) => status)).toEqual([201, 201])
  const ids = new Set(both.map(({ body }) => body.id))
  expect(ids.size).toBe(1)
  const [id = ''] = ids
  expect(await paymentsAtTill(id)).toHaveLength(1)
  expect((await web.call('GET', `/payments/${id}`, { cookie: stranger.cookie })).status).toBe(404)
  expect((await post(stranger, `/payments/${id}/refresh`)).status).toBe(404)
  expect((await web.call('GET', '/payments', { cookie: stranger.cookie })).body.data).toEqual([])
})

test.each([
  ['no offer', undefined],
  ['an older offer', '2020-01-01'],
])('whoever has accepted %s cannot pay until he accepts the one in force', async (_, offer) => {
  const person = offer === undefined ? await signedIn(pool) : await makePayer({ offer })
  const pay = () => post(person, '/payments', { amount_rub: '100' })
  const refused = await pay()
  expect({ status: refused.status, code: refused.body.code }).toEqual({
    status: 409,
    code: 'consent_outdated',
  })
  const [{ version }] = (await web.call('GET', '/legal/documents')).body.data.filter(
    ({ kind }: { readonly kind: string }) => kind === 'offer',
  )
  expect((await post(person, '/me/consents', { kind: 'offer', version })).status).toBe(200)
  const begun = await pay()
  expect(begun).toMatchObject({ status: 201, body: { status: 'pending' } })
})

test('at the end every promise about money holds', async () => {
  // A test above has altered one of our payments on purpose. Nothing of it was posted.
  for (const report of await checkInvariants(pool))
    expect(report).toMatchObject({ breachCount: 0, sample: null })
})
