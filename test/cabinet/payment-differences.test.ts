import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { checkPayment } from '#cabinet/payments/internal/check-payment'
import { processNotification } from '#cabinet/payments/internal/inbox'
import { paymentJobs } from '#cabinet/payments/payment-jobs'
import { openShop } from '#cabinet/payments/shop'
import { formatRub, nanoRub } from '#core/ledger/money'
import { startTill } from '#standalone/yookassa/start-till'
import { databaseOfThisFile, poolAs, urlAs } from '../support/postgres.ts'
import { startProcess } from '../support/processes.ts'
import { runJob } from '../support/run-job.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { callApi, driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { administrationOfThisFile, webOfThisFile } from '../support/web.ts'

// A test payment provider that notifies a real receiver, with a proxy in between that can alter payments in its
// responses.
const listed = '127.0.0.2'
const secret = 'secret-of-the-webhook-in-these-tests'
const database = await databaseOfThisFile()
const { pool } = database
const worker = poolAs('model_gateway_worker', database)
const receiver = await startProcess('cabinet/webhook/main.ts', {
  DATABASE_URL: urlAs('model_gateway_webhook', database.url),
  WEBHOOK_SECRET: secret,
  WEBHOOK_ALLOWED_CIDRS: listed,
  LOG_LEVEL: 'info',
  WEBHOOK_PORT: '0',
  WEBHOOK_ADMIN_PORT: '0',
  WEBHOOK_HOST: '127.0.0.1',
})
const till = await startTill({
  ...testShop,
  notifyFrom: listed,
  notifyUrl: `${new URL(receiver.baseUrl).origin}/webhooks/yookassa?secret=${secret}`,
})
const drive = driveTill(till.url)
const liar = await startLiar()
const web = await webOfThisFile(database, {
  ...shopSettingsOf({ apiUrl: liar.url }),
})
const administration = await administrationOfThisFile(database)
const shop = shopOf(true)
const liveShop = shopOf(false)
afterAll(async () => {
  await Promise.all([receiver.kill(), till.stop(), liar.close(), shop.close(), liveShop.close()])
})

const alarms: string[] = []
beforeEach(() => {
  liar.tell((payment) => payment)
  alarms.length = 0
})

const ignore = () => undefined
const log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: (_: object, message: string) => void alarms.push(message),
}

function shopOf(isTest: boolean) {
  const { shopId, secretKey } = testShop
  return openShop({ url: liar.url, shopId, secretKey, isTest, receipt: undefined })
}

// biome-ignore lint/suspicious/noExplicitAny: a lie has no shape
type Lie = (payment: any) => object

/** Forwards requests to the test payment provider, and alters payments in its responses. */
async function startLiar() {
  let lie: Lie = (payment) => payment
  const server = createServer(async (request, response) => {
    const { authorization = '' } = request.headers
    const answer = await fetch(new URL(request.url ?? '', till.url), { headers: { authorization } })
    const body = await answer.json()
    const told = answer.ok && request.url?.includes('/payments/') ? lie(body) : body
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(told))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(till.apiUrl).pathname}`,
    tell: (told: Lie) => {
      lie = told
    },
    async close() {
      server.close().closeAllConnections()
    },
  }
}

/** A payment of 100 ₽ paid at the test payment provider, which has sent its notification. */
async function paidPayment() {
  const { organizationId, userId, cookie } = await signedIn(pool)
  const id = randomUUID()
  const providerId = await payAtTill({ payment_id: id })
  await pool.query(
    `insert into payments (id, organization_id, user_id, amount, provider_id, next_call_at)
     values ($1, $2, $3, 100000000000, $4, null)`,
    [id, organizationId, userId, providerId],
  )
  return { id, providerId, organizationId, cookie }
}

async function payAtTill(metadata: Readonly<Record<string, string>>): Promise<string> {
  const { body } = await callApi(till, 'POST', '/payments', {
    body: {
      amount: { value: '100.00', currency: 'RUB' },
      confirmation: { type: 'redirect', return_url: 'http://localhost:3000/' },
      metadata,
      capture: true,
    },
  })
  const providerId = String(body.id)
  await drive.pay(providerId)
  await vi.waitFor(async () => {
    const { rowCount } = await pool.query('select from webhook_inbox where object_id = $1', [providerId])
    expect(rowCount).toBe(1)
  })
  return providerId
}

/** Looks at every notification that waits. */
async function lookAtAll(at = shop): Promise<void> {
  while (await processNotification({ pool: worker, shop: at, log }));
}

async function notifyAgain(providerId: string): Promise<void> {
  const { notifications } = await drive.journal()
  const { id } = notifications.find(({ objectId }) => objectId === providerId) ?? { id: '' }
  expect(await drive.deliver(id)).toEqual([200])
}

async function outcomeOf(providerId: string): Promise<string> {
  const { rows } = await pool.query(
    'select outcome from webhook_inbox where object_id = $1 order by id desc limit 1',
    [providerId],
  )
  return rows[0]?.outcome
}

/** Kinds and rubles, oldest first. */
async function ledgerOf(organizationId: string): Promise<string[]> {
  const { rows } = await pool.query(
    'select kind, amount from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows.map(({ kind, amount }) => `${kind} ${formatRub(nanoRub(amount))}`)
}

const { cookie: adminCookie, administratorId: adminId } = await signedInAdministrator(pool)

// biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
async function list(path: string): Promise<any[]> {
  const found = []
  let cursor: string | null = null
  do {
    const asked: string = cursor === null ? path : `${path}&cursor=${cursor}`
    const { status, body } = await administration.call('GET', asked, { cookie: adminCookie })
    expect(status).toBe(200)
    found.push(...body.data)
    cursor = body.next_cursor
  } while (cursor !== null)
  return found
}

const differencesOf = async (providerId: string, state = 'all') =>
  (await list(`/admin/payment-differences?state=${state}&limit=2`)).filter(
    ({ provider_id }) => provider_id === providerId,
  )

const resolve = (id: string, reason = 'looked at with the provider') =>
  administration.call('POST', `/admin/payment-differences/${id}/resolve`, {
    cookie: adminCookie,
    body: { reason },
  })

const stranger = randomUUID()
const withAmount =
  (fields: object): Lie =>
  (payment) => ({
    ...payment,
    amount: { ...payment.amount, ...fields },
  })
const lies: readonly (readonly [kind: string, expected: string, found: string, lie: Lie])[] = [
  ['shop', '100500', '999', (payment) => ({ ...payment, recipient: { account_id: '999' } })],
  ['amount', '100', '99.99', withAmount({ value: '99.99' })],
  ['amount', '100', 'none', withAmount({ value: '100,00' })],
  ['currency', 'RUB', 'USD', withAmount({ currency: 'USD' })],
  ['test', 'true', 'false', (payment) => ({ ...payment, test: false })],
  ['payment_id', 'ours', stranger, (payment) => ({ ...payment, metadata: { payment_id: stranger } })],
  ['payment_id', 'ours', 'none', (payment) => ({ ...payment, metadata: {} })],
]

test.each(lies)(
  'a payment notified with another %s (%s, but %s) posts nothing, raises an alert, and is posted when it is true',
  async (kind, expected, found, lie) => {
    const { id, providerId, organizationId, cookie } = await paidPayment()
    liar.tell(lie)
    await lookAtAll()
    expect(await outcomeOf(providerId)).toBe('different')
    expect(await ledgerOf(organizationId)).toEqual([])
    expect(await differencesOf(providerId)).toMatchObject([
      { kind, expected: expected === 'ours' ? id : expected, found, payment_id: id, resolved_at: null },
    ])
    expect(alarms).toEqual(['payment mismatch with provider; nothing was posted'])
    liar.tell((payment) => payment)
    const refreshed = web.call('POST', `/payments/${id}/refresh`, { cookie })
    await vi.waitFor(async () => expect(await checkPayment({ pool: worker, shop, log })).toBe(true))
    expect((await refreshed).body).toMatchObject({ status: 'succeeded' })
    expect(await ledgerOf(organizationId)).toEqual(['top_up 100'])
  },
)

test('a test payment at a live shop posts nothing', async () => {
  const { providerId, organizationId } = await paidPayment()
  await lookAtAll(liveShop)
  expect(await outcomeOf(providerId)).toBe('different')
  expect(await differencesOf(providerId)).toMatchObject([{ kind: 'test', expected: 'false', found: 'true' }])
  expect(await ledgerOf(organizationId)).toEqual([])
})

test('a payment that was never made here is put aside, with one alert for all its notifications', async () => {
  const providerId = await payAtTill({ payment_id: randomUUID() })
  await lookAtAll()
  await notifyAgain(providerId)
  await lookAtAll()
  expect(await outcomeOf(providerId)).toBe('unknown_payment')
  expect(await differencesOf(providerId)).toMatchObject([{ kind: 'unknown_payment', payment_id: null }])
  expect(alarms).toEqual(['provider has a payment that was never made here'])
})

test('what the provider has nothing of is noted, and nothing more', async () => {
  const objectId = randomUUID()
  await pool.query(
    `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', 'payment.succeeded', $1, '{}')`,
    [objectId],
  )
  await lookAtAll()
  expect(await outcomeOf(objectId)).toBe('not_found')
  expect(await differencesOf(objectId)).toEqual([])
})

/** The value of the metric. */
async function measured(): Promise<number> {
  const registry = new Registry()
  const measure = paymentJobs({ pool: worker, registry, log }, undefined).find(
    ({ name }) => name === 'payment_backlog',
  )
  await runJob(measure)
  const [sample] = (await registry.getSingleMetric('model_gateway_payment_differences')?.get())?.values ?? []
  return sample?.value ?? Number.NaN
}

test('a resolved difference is measured no more, and is logged again only if it differs', async () => {
  const { id, providerId, organizationId } = await paidPayment()
  const before = await measured()
  liar.tell(withAmount({ value: '1.00' }))
  await lookAtAll()
  const [difference] = await differencesOf(providerId, 'open')
  expect(await measured()).toBe(before + 1)

  const first = await resolve(difference.id)
  expect(first).toMatchObject({ status: 200, body: { resolved_by: adminId, expected: '100', found: '1' } })
  const again = await resolve(difference.id, 'and once more')
  expect([again.status, again.body]).toEqual([200, first.body])
  expect(await measured()).toBe(before)
  expect(await differencesOf(providerId, 'open')).toEqual([])
  expect(await differencesOf(providerId, 'resolved')).toEqual([first.body])
  const { rows } = await pool.query(
    `select actor_id, action, reason, organization_id from audit_log
      where subject_kind = 'PaymentDifference' and subject_id = $1`,
    [difference.id],
  )
  expect(rows).toEqual([
    {
      actor_id: adminId,
      action: 'payment.resolve_difference',
      organization_id: organizationId,
      reason: 'looked at with the provider',
    },
  ])

  alarms.length = 0
  await notifyAgain(providerId)
  await lookAtAll()
  expect(await outcomeOf(providerId)).toBe('different')
  expect([alarms, await measured()]).toEqual([[], before])
  liar.tell(withAmount({ value: '2.00' }))
  await notifyAgain(providerId)
  await lookAtAll()
  expect(alarms).toHaveLength(1)
  expect(await measured()).toBe(before + 1)
  expect(await differencesOf(providerId, 'open')).toMatchObject([{ payment_id: id, found: '2' }])
})

test.each(['0', '9'.repeat(18), '9'.repeat(19), '-1', 'none', randomUUID()])(
  'a difference that nobody has noted (%s) is not found',
  async (id) => {
    expect((await resolve(id)).status).toBe(404)
  },
)

test('the inbox lists the outcome of each notification, newest first, and those that wait; never a body', async () => {
  const { providerId } = await paidPayment()
  await lookAtAll()
  const waiting = await payAtTill({ payment_id: randomUUID() })
  const all = await list('/admin/webhooks?limit=3')
  const ids = all.map(({ id }) => Number(id))
  expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  expect(all.slice(0, 2)).toEqual([
    {
      id: expect.any(String),
      received_at: expect.any(String),
      event: 'payment.succeeded',
      object_id: waiting,
      processed_at: null,
      outcome: null,
      tries: 0,
    },
    expect.objectContaining({
      object_id: providerId,
      outcome: 'settled',
      tries: 1,
      processed_at: expect.any(String),
    }),
  ])
  expect(await list('/admin/webhooks?state=waiting')).toEqual(all.slice(0, 1))
})

test('notifications that were looked at 90 days ago are removed, in bounded steps; those that wait stay', async () => {
  await pool.query('truncate webhook_inbox')
  const add = (count: number, age: string, isProcessed: boolean) =>
    pool.query(
      `insert into webhook_inbox (provider, event, object_id, body, received_at, processed_at, outcome)
       select 'yookassa', 'payment.succeeded', 'old', '{}', now() - $2::interval, case when $3 then now() - $2::interval end,
              case when $3 then 'settled' end from generate_series(1, $1)`,
      [count, age, isProcessed],
    )
  await add(1_200, '91 days', true)
  await add(3, '89 days', true)
  await add(4, '900 days', false)
  const removal = paymentJobs({ pool: worker, registry: new Registry(), log }, shop).find(
    ({ name }) => name === 'webhook_removal',
  )
  expect([await runJob(removal), await runJob(removal)]).toEqual(['more', 'idle'])
  const { rows } = await pool.query(
    'select processed_at is null as waits, count(*)::int as count from webhook_inbox group by 1 order by 1',
  )
  expect(rows).toEqual([
    { waits: false, count: 3 },
    { waits: true, count: 4 },
  ])
})
