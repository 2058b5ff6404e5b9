import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, test } from 'vitest'
import { takeDueWebhook } from '#cabinet/notifications/internal/due-webhooks'
import { notificationJobs } from '#cabinet/notifications/notification-jobs'
import type { ResolveName } from '#core/egress/guarded-connector'
import { createKey } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import type { Job } from '#core/process/job'
import { listeningPort } from '#core/process/listening-port'
import { lowBalanceJob } from '#worker/low-balance-job'
import { cabinetOfThisFile, lettersTo, type SignedUp, signUp } from '../support/cabinet.ts'
import { type Customer, entryOf, pepper, uuidV7 } from '../support/customer.ts'
import { poolAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

/** Alerts as a worker finds and delivers them, with its role and against a receiver on loopback. */
const cabinet = await cabinetOfThisFile()
const { pool } = cabinet
const workerPool = poolAs('model_gateway_worker', cabinet.database)
const rub = 1_000_000_000n

type Received = {
  readonly headers: IncomingMessage['headers']
  readonly path: string
  readonly body: string
}
const received: Received[] = []
/** Of each path; 200 if absent, and none if 0. */
const statuses = new Map<string, number>()
const receiver = createServer(async (request, response) => {
  const path = request.url ?? ''
  received.push({ headers: request.headers, path, body: await text(request) })
  const status = statuses.get(path) ?? 200
  if (status === 0) return
  response.writeHead(status, status === 302 ? { location: '/redirected' } : {}).end()
})
await once(receiver.listen(0, '127.0.0.1'), 'listening')
afterAll(() => {
  receiver.closeAllConnections()
  receiver.close()
})

/** Knows `localhost` only, as a resolver of the network that an address guard must not trust. */
const resolve: ResolveName = (name, _options, callback) =>
  callback(null, name === 'localhost' ? [{ address: '127.0.0.1', family: 4 }] : [])
const jobsWith = (allowedCidrs: readonly string[]) =>
  notificationJobs(
    { pool: workerPool, registry: new Registry(), log: pino({ enabled: false }), resolve },
    { allowedCidrs, telegram: undefined },
  )
const jobs = jobsWith(['127.0.0.0/8'])
const signal = new AbortController().signal

async function run(name: string, among: readonly Job[] = jobs): Promise<void> {
  const job = among.find((each) => each.name === name)
  if (job === undefined) throw new Error(`there is no job ${name}`)
  while ((await job.run(signal, signal)) === 'more');
}
/** Finds alerts and delivers webhooks. */
async function work(): Promise<void> {
  await pool.query(`update notification_settings set next_check_at = '-infinity'`)
  await run('alerts')
  await run('alert_webhooks')
}

type Owner = SignedUp & { readonly path: string; readonly url: string }

async function newOwner(): Promise<Owner> {
  const user = await signUp(cabinet)
  const path = `/${randomUUID()}`
  return { ...user, path, url: `http://127.0.0.1:${listeningPort(receiver)}${path}` }
}

async function newKey(
  { organizationId }: Owner,
  fields: Partial<Parameters<typeof createKey>[1]> = {},
): Promise<Customer> {
  const name = `key-${randomBytes(4).toString('hex')}`
  const { keyId, secret } = await inTestScope(pool, (client) =>
    createKey(client, { organizationId, name, managedBy: 'cabinet', ...fields }, pepper),
  )
  return { organizationId, keyId, key: secret }
}

const dayMs = 86_400_000
const moscowDay = (at: Date) => new Date(at.getTime() + 3 * 3_600_000).toISOString().slice(0, 10)
/** A charge of a request at that time. */
const spendAt = (customer: Customer, nano: bigint, at: Date) =>
  postBatch(pool, [
    {
      ...entryOf(customer, nano),
      requestId: uuidV7(at.getTime()),
      day: Math.floor((at.getTime() + 3 * 3_600_000) / dayMs),
    },
  ])
const daysAgo = (count: number) => new Date(Date.now() - count * dayMs)
const spend = (customer: Customer, nano: bigint) => postBatch(pool, [entryOf(customer, nano)])
const eventsOf = ({ path }: Owner) =>
  received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body))
const alertsTo = async ({ email }: Owner, kind: string) =>
  (await lettersTo(pool, email)).filter((letter) => letter.kind === kind)
const turnOn = ({ visitor }: Owner, fields: object) => visitor.call('PATCH', '/notifications', fields)
const setWebhook = ({ visitor, url }: Owner) => visitor.post('/notifications/webhook', { url })
/** As if this much time had passed. */
const letEmails = ({ organizationId }: Owner) =>
  pool.query(
    `update notification_settings set emailed_at = emailed_at - interval '31 minutes' where organization_id = $1`,
    [organizationId],
  )
const letRetry = async ({ organizationId }: Owner) => {
  await letNext({ organizationId })
  await pool.query('update webhook_outbox set next_attempt_at = now() where organization_id = $1', [
    organizationId,
  ])
}
/** Ends the lease or pause of an organization. */
const letNext = ({ organizationId }: Pick<Owner, 'organizationId'>) =>
  pool.query('update notification_settings set webhook_busy_until = now() where organization_id = $1', [
    organizationId,
  ])
const pauseOf = async ({ organizationId }: Owner) => {
  const { rows } = await pool.query(
    `select webhook_failures as failures, extract(epoch from greatest(webhook_busy_until, now() - interval '1 day') - now())::float8 as seconds
       from notification_settings where organization_id = $1`,
    [organizationId],
  )
  return rows[0]
}
/** Tests that wait, before those of others. */
const addWaiting = ({ organizationId }: Owner, count: number) =>
  pool.query(
    `insert into webhook_outbox (organization_id, event, payload, next_attempt_at)
     select $1, 'test', '{}', now() - interval '1 year' from generate_series(1, $2)`,
    [organizationId, count],
  )

test("each level of an organization's budgets is alerted of once, in its windows, and again after the budget was raised", async () => {
  const owner = await newOwner()
  await setWebhook(owner)
  await turnOn(owner, { budgets: true })
  const setBudgets = (week: bigint, month: bigint | null) =>
    pool.query('update organizations set weekly_budget_nano = $2, monthly_budget_nano = $3 where id = $1', [
      owner.organizationId,
      week,
      month,
    ])
  await setBudgets(10n * rub, 1_000n * rub)
  const [one, other] = [await newKey(owner), await newKey(owner)]
  await spend(one, 4n * rub)
  await work()
  expect(eventsOf(owner)).toEqual([])
  await spend(other, 1n * rub)
  await Promise.all([run('alerts'), run('alerts')])
  await work()
  const data = {
    key_id: null,
    key_name: null,
    budget: 'weekly',
    percent: 50,
    spent_rub: '5',
    budget_rub: '10',
  }
  expect(eventsOf(owner)).toMatchObject([
    { type: 'budget.reached', data: { organization_id: owner.organizationId, ...data } },
  ])
  expect(await alertsTo(owner, 'budget_reached')).toMatchObject([
    { vars: { more: 0, budgets: [{ key: null, budget: 'weekly', percent: 50 }] } },
  ])
  await setBudgets(20n * rub, null)
  await work()
  await letNext(owner)
  await setBudgets(6n * rub, null)
  await work()
  expect(eventsOf(owner)).toMatchObject([
    { data },
    { data: { percent: 80, spent_rub: '5', budget_rub: '6' } },
  ])
})

describe('budgets of keys', () => {
  test('each level is alerted of once, by webhook at once and by email collected over half an hour', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    await turnOn(owner, { budgets: true })
    const key = await newKey(owner, {
      dailyBudgetNano: nanoRub(10n * rub),
      monthlyBudgetNano: nanoRub(100n * rub),
    })
    await spend(key, 5n * rub - 1n)
    await work()
    expect(eventsOf(owner)).toEqual([])
    await spend(key, 1n)
    await Promise.all([run('alerts'), run('alerts'), run('alerts')])
    await work()
    expect(eventsOf(owner)).toMatchObject([
      {
        type: 'budget.reached',
        data: {
          organization_id: owner.organizationId,
          key_id: key.keyId,
          budget: 'daily',
          percent: 50,
          spent_rub: '5',
          budget_rub: '10',
        },
      },
    ])
    expect(await alertsTo(owner, 'budget_reached')).toMatchObject([
      { vars: { more: 0, budgets: [{ percent: 50 }] } },
    ])
    await spend(key, 4n * rub) // 90 %
    await work()
    await spend(key, 41n * rub) // far over the daily one, and half of the monthly one
    await work()
    await work()
    expect(eventsOf(owner).map(({ data }) => [data.budget, data.percent])).toEqual([
      ['daily', 50],
      ['daily', 80],
      ['daily', 100],
      ['monthly', 50],
    ])
    expect(await alertsTo(owner, 'budget_reached')).toHaveLength(1)
    await letEmails(owner)
    await work()
    const letters = await alertsTo(owner, 'budget_reached')
    expect(letters[1]?.vars).toMatchObject({
      budgets: [
        { budget: 'daily', percent: 100 },
        { budget: 'monthly', percent: 50 },
      ],
      more: 0,
    })
  })

  test('a lowered budget is alerted of without another charge, and a raised one again', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    await turnOn(owner, { budgets: true })
    const key = await newKey(owner, { totalBudgetNano: nanoRub(100n * rub) })
    await spend(key, 20n * rub)
    await work()
    const setTotal = (nano: bigint) =>
      pool.query('update api_keys set total_budget_nano = $2 where id = $1', [key.keyId, nano])
    for (const nano of [20n, 40n, 25n]) {
      await setTotal(nano * rub)
      await work()
    }
    expect(eventsOf(owner).map(({ data }) => [data.percent, data.budget_rub, data.window_start])).toEqual([
      [100, '20', null],
      [80, '25', null],
    ])
  })

  test('a budget that is changed while its email waits is still reported, if it is reached', async () => {
    const owner = await newOwner()
    await turnOn(owner, { budgets: true })
    await spend(await newKey(owner, { totalBudgetNano: nanoRub(10n * rub) }), 10n * rub)
    await work()
    const [changed, raised] = [await newKey(owner), await newKey(owner)]
    const setTotal = ({ keyId }: Customer, nano: bigint) =>
      pool.query('update api_keys set total_budget_nano = $2 where id = $1', [keyId, nano])
    for (const key of [changed, raised]) {
      await setTotal(key, 100n * rub)
      await spend(key, 100n * rub)
    }
    await work()
    await setTotal(changed, 99n * rub)
    await setTotal(raised, 1_000n * rub)
    await work()
    await letEmails(owner)
    await work()
    const [, letter] = await alertsTo(owner, 'budget_reached')
    expect(letter?.vars).toMatchObject({ budgets: [{ percent: 100, limit: '99' }], more: 0 })
  })

  test('charges of the end of a day that are posted after midnight are alerted of for that day', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    await turnOn(owner, { budgets: true })
    const key = await newKey(owner, { dailyBudgetNano: nanoRub(10n * rub) })
    await work()
    await pool.query(
      `update notification_settings set checked_at = checked_at - interval '1 day' where organization_id = $1`,
      [owner.organizationId],
    )
    const yesterday = daysAgo(1)
    await spendAt(key, 10n * rub, yesterday)
    await spend(key, 5n * rub)
    await work()
    expect(eventsOf(owner).map(({ data }) => [data.percent, data.window_start])).toEqual([
      [100, moscowDay(yesterday)],
      [50, moscowDay(new Date())],
    ])
    expect(await alertsTo(owner, 'budget_reached')).toMatchObject([
      { vars: { budgets: [{ percent: 100 }, { percent: 50 }] } },
    ])
    const { rows } = await pool.query('select first_day::text from budget_alerts where key_id = $1', [
      key.keyId,
    ])
    expect(rows).toEqual([{ first_day: moscowDay(new Date()) }])
  })

  test('a charge of yesterday that is posted after the first check of today is alerted of, once', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    await turnOn(owner, { budgets: true })
    const key = await newKey(owner, { dailyBudgetNano: nanoRub(10n * rub) })
    const checkedAtTen = () =>
      pool.query(
        `update notification_settings set checked_version = null, checked_at =
           (date_trunc('day', now() at time zone 'Europe/Moscow') + interval '10 minutes') at time zone 'Europe/Moscow'
          where organization_id = $1`,
        [owner.organizationId],
      )
    await work()
    await checkedAtTen()
    const yesterday = daysAgo(1)
    await spendAt(key, 8n * rub, yesterday)
    for (let times = 0; times < 2; times++) {
      await work()
      await checkedAtTen()
    }
    expect(eventsOf(owner).map(({ data }) => [data.percent, data.window_start])).toEqual([
      [80, moscowDay(yesterday)],
    ])
  })

  test('of a thousand budgets reached at once, one email lists ten and counts the rest', async () => {
    const owner = await newOwner()
    await turnOn(owner, { budgets: true })
    await pool.query(
      `insert into api_keys (id, organization_id, name, managed_by, daily_budget_nano)
       select gen_random_uuid(), $1, 'many-' || n, 'cabinet', 10 from generate_series(1, 1000) n`,
      [owner.organizationId],
    )
    await pool.query(
      `insert into key_daily_spend (key_id, day, amount, version)
       select id, (now() at time zone 'Europe/Moscow')::date, 10, 1 from api_keys where organization_id = $1 and name like 'many-%'`,
      [owner.organizationId],
    )
    await work()
    await work()
    expect(await alertsTo(owner, 'budget_reached')).toMatchObject([{ vars: { more: 990 } }])
  })

  test('alerts leave room in a mailbox for what its owner asks for', async () => {
    const owner = await newOwner()
    await turnOn(owner, { budgets: true })
    const key = await newKey(owner, { dailyBudgetNano: nanoRub(10n * rub) })
    await pool.query(
      `insert into email_outbox (kind, recipient, mailbox, locale, vars, due_at)
       select 'totp_enabled', recipient, mailbox, locale, '{}', clock_timestamp() from email_outbox, generate_series(1, 4)
        where recipient = $1`,
      [owner.email],
    )
    await spend(key, 10n * rub)
    await work()
    expect(await alertsTo(owner, 'budget_reached')).toHaveLength(0)
    await pool.query(`update email_outbox set due_at = due_at - interval '1 hour' where recipient = $1`, [
      owner.email,
    ])
    await work()
    expect(await alertsTo(owner, 'budget_reached')).toHaveLength(1)
  })

  test('charges that go on are checked after a pause, and a changed budget at once', async () => {
    const owner = await newOwner()
    await turnOn(owner, { budgets: true })
    const key = await newKey(owner, { totalBudgetNano: nanoRub(10n * rub) })
    await spend(key, 5n * rub)
    const noted = async () => {
      await run('alerts')
      const { rows } = await pool.query('select percent from budget_alerts where key_id = $1', [key.keyId])
      return rows.map(({ percent }) => percent)
    }
    expect(await noted()).toEqual([50])
    await spend(key, 3n * rub)
    expect(await noted()).toEqual([50])
    await pool.query('update api_keys set total_budget_nano = $2 where id = $1', [key.keyId, 9n * rub])
    expect(await noted()).toEqual([80])
  })

  test('an organization whose check fails holds up no other one', async () => {
    const [broken, healthy] = [await newOwner(), await newOwner()]
    for (const owner of [broken, healthy]) {
      await setWebhook(owner)
      await turnOn(owner, { budgets: true })
    }
    const key = await newKey(broken, { totalBudgetNano: nanoRub(10n * rub) })
    // More than a bigint holds.
    await pool.query(
      `insert into key_daily_spend (key_id, day, amount, version)
       select $1, current_date - n, 9000000000000000000, 1 from generate_series(0, 1) n`,
      [key.keyId],
    )
    await spend(await newKey(healthy, { dailyBudgetNano: nanoRub(10n * rub) }), 10n * rub)
    await work()
    expect(eventsOf(healthy)).toHaveLength(1)
    const { rows } = await pool.query(
      `select checked_at as "checkedAt", next_check_at > now() as "isPostponed" from notification_settings
        where organization_id = $1`,
      [broken.organizationId],
    )
    expect(rows).toEqual([{ checkedAt: null, isPostponed: true }])
  })

  test('an organization that has not asked for alerts gets none', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    const key = await newKey(owner, { dailyBudgetNano: nanoRub(10n * rub) })
    await spend(key, 200n * rub)
    await work()
    expect(eventsOf(owner)).toEqual([])
    expect(await alertsTo(owner, 'budget_reached')).toEqual([])
  })
})

describe('high spending', () => {
  test('a day that costs more than three times the median of seven days is alerted of once', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    await turnOn(owner, { spend_spike: true })
    const key = await newKey(owner)
    for (const [index, rubles] of [10n, 50n, 50n, 200n, 50n, 0n, 200n].entries())
      await spendAt(key, rubles * rub, daysAgo(index + 1))
    await spend(key, 150n * rub) // three times 50
    await work()
    expect(eventsOf(owner)).toEqual([])
    await spend(key, 1n * rub)
    await work()
    await spend(key, 500n * rub)
    await work()
    expect(eventsOf(owner)).toMatchObject([
      { type: 'spend.spike', data: { day: moscowDay(new Date()), spent_rub: '151', median_rub: '50' } },
    ])
    expect(await alertsTo(owner, 'spend_spike')).toMatchObject([{ vars: { spent: '151', median: '50' } }])
  })
})

test('spending of the first seven days is not unusual, and the eighth day is compared with it', async () => {
  const [young, week] = [await newOwner(), await newOwner()]
  for (const [owner, days] of [
    [young, 6],
    [week, 7],
  ] as const) {
    await setWebhook(owner)
    await turnOn(owner, { spend_spike: true })
    const key = await newKey(owner)
    for (let count = 1; count <= days; count++) await spendAt(key, 50n * rub, daysAgo(count))
    await spend(key, 500n * rub)
  }
  await work()
  expect(eventsOf(young)).toEqual([])
  expect(eventsOf(week)).toHaveLength(1)
})

test('a low balance is posted as a webhook, too', async () => {
  const owner = await newOwner()
  await setWebhook(owner)
  const { headers } = await owner.visitor.get('/organization')
  const version = { 'if-match': headers.get('etag') ?? '' }
  await owner.visitor.call('PATCH', '/organization', { low_balance_threshold_rub: '1000' }, version)
  await run('low_balance', [lowBalanceJob(workerPool)])
  await run('low_balance', [lowBalanceJob(workerPool)])
  await run('alert_webhooks')
  expect(eventsOf(owner)).toMatchObject([{ type: 'balance.low', data: { threshold_rub: '1000' } }])
  expect(await alertsTo(owner, 'low_balance')).toMatchObject([
    { vars: { link: expect.stringMatching(/\/app\/billing$/) } },
  ])
})

describe('webhooks', () => {
  test('a test arrives signed by the secret that was shown, and by email', async () => {
    const owner = await newOwner()
    const set = await setWebhook(owner)
    expect(set).toMatchObject({
      status: 200,
      body: { notifications: { webhook: { url: owner.url, last_delivery: null } } },
    })
    expect((await owner.visitor.post('/notifications/test')).body).toEqual({
      email: owner.email,
      webhook: true,
      telegram: false,
    })
    await run('alert_webhooks')
    const [got] = received.filter(({ path }) => path === owner.path)
    if (got === undefined) throw new Error('nothing was received')
    expect(JSON.parse(got.body)).toMatchObject({
      type: 'test',
      data: { organization_id: owner.organizationId },
    })
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = got.headers
    const secret = Buffer.from(set.body.secret.replace(/^whsec_/, ''), 'base64')
    const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.${got.body}`).digest('base64')
    expect(signature).toBe(`v1,${expected}`)
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60)
    expect(await alertsTo(owner, 'notification_test')).toHaveLength(1)
    const shown = await owner.visitor.get('/notifications')
    expect(shown.body.webhook.last_delivery).toMatchObject({
      event: 'test',
      status: 'delivered',
      attempts: 1,
      error_code: null,
    })
    expect(shown.text).not.toContain(set.body.secret)
  })

  test('a failure and a redirect are retried with the same id, and after a day given up', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    await owner.visitor.post('/notifications/test')
    const stateOf = async () => (await owner.visitor.get('/notifications')).body.webhook.last_delivery
    for (const status of [500, 302]) {
      statuses.set(owner.path, status)
      await letRetry(owner)
      await run('alert_webhooks')
      expect(await stateOf()).toMatchObject({ status: 'waiting', error_code: `HTTP ${status}` })
    }
    await letRetry(owner)
    await pool.query(
      `update webhook_outbox set created_at = created_at - interval '1 day' where organization_id = $1`,
      [owner.organizationId],
    )
    await run('alert_webhooks')
    expect(await stateOf()).toMatchObject({ status: 'failed', attempts: 3 })
    const ids = received.filter(({ path }) => path === owner.path).map(({ headers }) => headers['webhook-id'])
    expect([ids.length, new Set(ids).size]).toEqual([3, 1])
    expect(received.some(({ path }) => path === '/redirected')).toBe(false)
  })

  test('a webhook that a killed worker had taken is sent by another one after its lease', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    await owner.visitor.post('/notifications/test')
    await pool.query(
      `update webhook_outbox set next_attempt_at = now() - interval '1 year' where organization_id = $1`,
      [owner.organizationId],
    )
    const taken = await takeDueWebhook(workerPool, 60_000)
    expect(taken?.organizationId).toBe(owner.organizationId)
    await run('alert_webhooks')
    expect(eventsOf(owner)).toEqual([])
    await letNext(owner)
    await run('alert_webhooks')
    expect(eventsOf(owner)).toHaveLength(1)
  })

  test.each([
    'http://127.0.0.1:PORT/x',
    'https://127.0.0.1:PORT/x',
    'https://localhost:PORT/x',
    'https://[::1]:PORT/x',
    'https://[::ffff:127.0.0.1]:PORT/x',
    'https://unknown.example/x',
    'https://10.0.0.1/x',
    'https://169.254.169.254/latest',
    'http://192.0.2.1/x',
  ])('by default no connection is made to %s', async (template) => {
    const owner = await newOwner()
    const url = template.replace('PORT', String(listeningPort(receiver)))
    expect((await owner.visitor.post('/notifications/webhook', { url })).status).toBe(200)
    await owner.visitor.post('/notifications/test')
    const before = received.length
    await run('alert_webhooks', jobsWith([]))
    const { body } = await owner.visitor.get('/notifications')
    expect(body.webhook.last_delivery).toMatchObject({ status: 'waiting', error_code: 'ERR_ADDRESS_REFUSED' })
    expect(received).toHaveLength(before)
  })

  test('an allowed name gets webhooks', async () => {
    const owner = await newOwner()
    const url = owner.url.replace('127.0.0.1', 'localhost')
    await setWebhook({ ...owner, url })
    await owner.visitor.post('/notifications/test')
    await run('alert_webhooks')
    expect(eventsOf(owner)).toHaveLength(1)
  })

  test('of one organization one webhook is in flight, however many workers take webhooks at the same time', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    for (let round = 1; round <= 5; round++) {
      await addWaiting(owner, 4)
      const taken = await Promise.all(Array.from({ length: 4 }, () => takeDueWebhook(workerPool, 60_000)))
      expect(taken.filter((each) => each?.organizationId === owner.organizationId)).toHaveLength(1)
      for (const each of taken) if (each !== undefined) await letNext(each)
    }
  })

  test('webhooks of a server that fails wait together, longer with each failure, and not for a new address', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    statuses.set(owner.path, 500)
    await addWaiting(owner, 5)
    for (const [failures, secondsMin, secondsMax] of [
      [1, 2, 7],
      [2, 5, 13],
      [3, 13, 25],
    ] as const) {
      await run('alert_webhooks')
      expect(eventsOf(owner)).toHaveLength(failures)
      const pause = await pauseOf(owner)
      expect(pause.failures).toBe(failures)
      expect(pause.seconds).toBeGreaterThan(secondsMin)
      expect(pause.seconds).toBeLessThan(secondsMax)
      await letNext(owner)
    }
    statuses.delete(owner.path)
    await run('alert_webhooks')
    expect((await pauseOf(owner)).failures).toBe(0)
    statuses.set(owner.path, 500)
    await owner.visitor.post('/notifications/test')
    await run('alert_webhooks')
    expect((await pauseOf(owner)).failures).toBe(1)
    await setWebhook(owner)
    expect(await pauseOf(owner)).toEqual({ failures: 0, seconds: -86_400 })
  })

  test('a worker that stops during an attempt counts no failure', async () => {
    const owner = await newOwner()
    await setWebhook(owner)
    statuses.set(owner.path, 0)
    await addWaiting(owner, 1)
    const ending = new AbortController()
    const attempt = jobs.find(({ name }) => name === 'alert_webhooks')?.run(signal, ending.signal)
    await expect.poll(() => eventsOf(owner).length).toBe(1)
    ending.abort()
    await attempt
    expect((await pauseOf(owner)).failures).toBe(0)
    statuses.delete(owner.path)
    await letNext(owner)
    await run('alert_webhooks')
    expect(eventsOf(owner)).toHaveLength(2)
  })

  test('what waits for an address is not sent to the next one, but signed by a new secret for the same one', async () => {
    const owner = await newOwner()
    const next = { ...owner, path: `${owner.path}-next`, url: `${owner.url}-next` }
    await setWebhook(owner)
    await addWaiting(owner, 3)
    await setWebhook(owner)
    const delivery = async () => (await owner.visitor.get('/notifications')).body.webhook.last_delivery
    expect(await delivery()).toMatchObject({ status: 'waiting' })
    await setWebhook(next)
    expect(await delivery()).toMatchObject({ status: 'failed', error_code: 'ERR_ADDRESS_CHANGED' })
    await owner.visitor.post('/notifications/test')
    await run('alert_webhooks')
    expect([eventsOf(owner).length, eventsOf(next).length]).toEqual([0, 1])
  })

  test('without an address nothing waits, and at most 1,000 wait for one', async () => {
    const owner = await newOwner()
    expect((await owner.visitor.post('/notifications/test')).body.webhook).toBe(false)
    await setWebhook(owner)
    await pool.query(
      `insert into webhook_outbox (organization_id, event, payload) select $1, 'test', '{}' from generate_series(1, 1000)`,
      [owner.organizationId],
    )
    expect((await owner.visitor.post('/notifications/test')).body.webhook).toBe(false)
    expect((await owner.visitor.call('DELETE', '/notifications/webhook')).status).toBe(204)
    await run('alert_webhooks')
    expect(eventsOf(owner)).toEqual([])
    const { rows } = await pool.query(
      'select count(*)::int as n from webhook_outbox where organization_id = $1 and gave_up_at is null',
      [owner.organizationId],
    )
    expect(rows).toEqual([{ n: 0 }])
  })

  test.each([
    'ftp://example.com',
    'https://user:password@example.com',
    'https://example.com/#x',
    'example.com',
    '',
    'javascript:alert(1)',
    `https://example.com/${'a'.repeat(2048)}`,
    'https://127.1/x',
  ])('%s is no address', async (url) => {
    expect((await (await newOwner()).visitor.post('/notifications/webhook', { url })).status).toBe(422)
  })
})

test('the secret is in no response, log or audit row but the first', async () => {
  const owner = await newOwner()
  const { body } = await setWebhook(owner)
  const { rows } = await pool.query(
    'select row_to_json(a)::text as row from audit_log a where organization_id = $1',
    [owner.organizationId],
  )
  const seen = [...cabinet.lines, ...rows.map(({ row }) => row)].join('\n')
  expect(seen).toContain('webhook.set')
  for (const hidden of [body.secret, owner.path]) expect(seen).not.toContain(hidden)
})

test('nothing is kept of an organization that its last member leaves', async () => {
  const owner = await newOwner()
  await setWebhook(owner)
  await owner.visitor.post('/notifications/test')
  await pool.query('delete from memberships where user_id = $1', [owner.userId])
  for (const table of ['notification_settings', 'webhook_outbox'])
    expect(
      (await pool.query(`select from ${table} where organization_id = $1`, [owner.organizationId])).rowCount,
    ).toBe(0)
})
