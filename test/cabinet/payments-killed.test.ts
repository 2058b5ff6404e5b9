import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { expect, test, vi } from 'vitest'
import { readVersionInForce } from '#cabinet/legal/legal-texts'
import { checkInvariants } from '#core/ledger/invariants'
import { startRedis } from '#standalone/redis'
import { startTill } from '#standalone/yookassa/start-till'
import { newClientAddress } from '../support/client-address.ts'
import { makePayer, type Payer } from '../support/payer.ts'
import { createDatabase, urlAs } from '../support/postgres.ts'
import { type Process, secrets, startProcess, untilReady } from '../support/processes.ts'
import { redisLogins, redisUrlOf } from '../support/redis-logins.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { openStepGate } from '../support/step-gate.ts'
import { driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { administrationSettings, administrationUrl, appUrl, webSettings } from '../support/web-settings.ts'

/**
 * Kills (SIGKILL) each process that creates, receives, posts and refunds a payment: after its first statement or
 * before its first call to the provider, whichever comes first, then after the second, and so on. A run without a kill
 * counts the steps. A call counts as two: the provider has not received it yet, and it has carried it out but its
 * response is lost. Then everything continues and must end in the same state as without a kill.
 *
 * Each flow has its own database, test payment provider, Redis and processes, so that flows run in parallel.
 */
const listed = '127.0.0.2'
const secret = 'secret-of-the-webhook-in-these-tests'
const reason = 'asked for by the customer'
/** More steps than anything here takes. */
const stepCountMax = 80

type Role = 'web' | 'administration' | 'worker' | 'receiver'
type World = Awaited<ReturnType<typeof startWorld>>

const entries = {
  web: 'cabinet/web/main.ts',
  administration: 'cabinet/administration/main.ts',
  worker: 'worker/main.ts',
  receiver: 'cabinet/webhook/main.ts',
}

function environmentOf(
  role: Role,
  { databaseUrl, redisUrl, apiUrl }: Readonly<Record<'databaseUrl' | 'redisUrl' | 'apiUrl', string>>,
): Readonly<Record<string, string>> {
  const common = { LOG_LEVEL: 'info' }
  const shop = { ...shopSettingsOf({ apiUrl }), YOOKASSA_SAVED_CARDS: 'true' }
  switch (role) {
    case 'web':
      return {
        ...common,
        ...webSettings,
        ...shop,
        REDIS_URL: redisUrlOf.cabinet(redisUrl),
        DATABASE_URL: urlAs('model_gateway_cabinet', databaseUrl),
        TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
      }
    case 'administration':
      return {
        ...common,
        ...administrationSettings,
        ...shop,
        REDIS_URL: redisUrlOf.cabinet(redisUrl),
        DATABASE_URL: urlAs('model_gateway_administration', databaseUrl),
        TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
      }
    case 'worker':
      return {
        ...common,
        ...secrets,
        ...shop,
        REDIS_URL: redisUrlOf.worker(redisUrl),
        DATABASE_URL: urlAs('model_gateway_worker', databaseUrl),
        WORKER_ADMIN_PORT: '0',
        WORKER_HOST: '127.0.0.1',
      }
    case 'receiver':
      return {
        ...common,
        WEBHOOK_SECRET: secret,
        WEBHOOK_ALLOWED_CIDRS: listed,
        DATABASE_URL: urlAs('model_gateway_webhook', databaseUrl),
        WEBHOOK_PORT: '0',
        WEBHOOK_ADMIN_PORT: '0',
        WEBHOOK_HOST: '127.0.0.1',
      }
  }
}

/** A whole system; the victim is behind the gate. */
async function startWorld(victim: Role, others: readonly Role[]) {
  const started = new AsyncDisposableStack()
  const database = started.use(await createDatabase())
  const redis = started.use(await startRedis({ appendonly: 'no', logins: redisLogins }))
  const till = started.adopt(await startTill({ ...testShop, notifyFrom: listed }), (it) => it.stop())
  const gate = started.use(await openStepGate({ databaseUrl: database.url, apiUrl: till.apiUrl }))
  const running = new Map<Role, Process>()
  started.defer(async () => {
    await Promise.all([...running.values()].map((process) => process.kill()))
  })

  async function start(role: Role): Promise<void> {
    const behindGate = new URL(database.url)
    if (role === victim) behindGate.port = String(gate.port)
    const env = environmentOf(role, {
      databaseUrl: behindGate.href,
      redisUrl: redis.url,
      apiUrl: role === victim ? gate.apiUrl : till.apiUrl,
    })
    const process = await startProcess(entries[role], env)
    await untilReady(process) // what it asks before that is no step
    running.set(role, process)
    if (role === 'receiver')
      await drive.set({ notifyUrl: `${new URL(process.baseUrl).origin}/webhooks/yookassa?secret=${secret}` })
  }

  const drive = driveTill(till.url)
  const { pool } = database

  // The system has recovered by itself: the daily comparison, with which every worker begins, finds nothing.
  await drive.misbehave({ on: 'list_payments', answer: 'internal_error', work: 'not_done', times: null })
  await drive.set({ notifications: 'held' })
  await Promise.all([victim, ...others].map(start))

  async function post({ cookie }: Pick<Payer, 'cookie'>, path: string, body: object, key: string) {
    const isForAdministrators = path.startsWith('/admin/')
    const asked = running.get(isForAdministrators ? 'administration' : 'web')
    if (asked === undefined) throw new Error('nobody runs')
    const response = await fetch(`${asked.baseUrl.replace(/\/v1$/, '/api/v1')}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': key,
        cookie,
        origin: isForAdministrators ? administrationUrl : appUrl,
        // From its own address, and so with its own throttles.
        'x-forwarded-for': newClientAddress(),
      },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as { readonly id: string } }
  }

  return {
    pool,
    drive,
    gate,
    post,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
    async killVictim(): Promise<void> {
      await running.get(victim)?.kill()
      gate.open()
      await untilRolledBack(pool, names[victim])
    },
    restartVictim: () => start(victim),
  }
}

/** Of their connections. */
const names = { web: 'cabinet', administration: 'administration', worker: 'worker', receiver: 'webhook' }

const waiting = { timeout: 20_000, interval: 20 }
/** A worker that was killed does not answer. */
const answerWaiting = { timeout: 5_000, interval: 20 }

async function untilRolledBack(pool: Pool, name: string): Promise<void> {
  await vi.waitFor(async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and application_name like $1`,
      [`model-gateway-${name}%`],
    )
    expect(rowCount).toBe(0)
  }, waiting)
}

const makeAdministrator = ({ pool }: World) => signedInAdministrator(pool)

type Paying = { readonly payer: Payer; readonly id: string; readonly providerId: string }

/** An unpaid payment of 1000 ₽. */
async function begin(world: World): Promise<Paying> {
  const payer = await makePayer(world.pool)
  const { status, body } = await world.post(payer, '/payments', { amount_rub: '1000' }, randomUUID())
  expect(status).toBe(201)
  const [{ provider_id: providerId } = { provider_id: '' }] = await rowsOf(world, 'payments', body.id)
  return { payer, id: body.id, providerId }
}

/** The same, paid and credited. */
async function pay(world: World): Promise<Paying> {
  const paying = await begin(world)
  await world.drive.pay(paying.providerId, 'lost')
  await world.post(paying.payer, `/payments/${paying.id}/refresh`, {}, randomUUID())
  expect((await rowsOf(world, 'payments', paying.id))[0]).toMatchObject({ status: 'succeeded' })
  return paying
}

async function rowsOf({ pool }: World, table: 'payments' | 'refunds', id: string) {
  const { rows } = await pool.query(
    `select * from ${table} where ${table === 'payments' ? 'id' : 'payment_id'} = $1`,
    [id],
  )
  return rows
}

/** As if the time of everything that waits had come. */
async function makeAllDue({ pool }: World): Promise<void> {
  for (const table of ['payments', 'refunds'])
    await pool.query(`update ${table} set next_call_at = now() where next_call_at is not null`)
  await pool.query('update webhook_inbox set next_attempt_at = now() where processed_at is null')
}

/** Waits until no call of an organization is under way and no notification waits. */
async function untilAtRest({ pool }: World): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await pool.query(
      `select (select count(*)::int from webhook_inbox where processed_at is null) as waiting,
              (select count(*)::int from payments where next_call_at is not null) as payments,
              (select count(*)::int from refunds where next_call_at is not null) as refunds`,
    )
    expect(rows).toEqual([{ waiting: 0, payments: 0, refunds: 0 }])
  }, waiting)
}

/** Waits until the worker has answered what customers asked about a payment, even if they wait no more. */
async function untilChecked({ pool }: World, paymentId: string): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await pool.query(
      'select count(*)::int as open from payment_checks where payment_id = $1 and outcome is null',
      [paymentId],
    )
    expect(rows).toEqual([{ open: 0 }])
  }, waiting)
}

async function notificationOf({ drive }: World, objectId: string): Promise<string> {
  const { notifications } = await drive.journal()
  return notifications.find((one) => one.objectId === objectId)?.id ?? ''
}

/** The final state of a payer's payments, here and at the test payment provider, without IDs and times. */
async function stateOf({ pool, drive }: World, { organizationId }: Payer) {
  const select = async (sql: string) => (await pool.query(sql, [organizationId])).rows
  const payments = await select('select * from payments where organization_id = $1 order by amount')
  const [journal, ids] = [await drive.journal(), new Set(payments.map(({ id }) => id))]
  const there = journal.payments.filter(({ metadata }) => ids.has(metadata?.payment_id))
  const thereIds = new Set(there.map(({ id }) => id))
  return {
    payments: payments.map(({ status, amount, refunded, provider_id, call_body, succeeded_at }) => ({
      status,
      amount,
      refunded,
      isOurs: thereIds.has(provider_id),
      call_body,
      isPaid: succeeded_at !== null,
    })),
    refunds: await select(
      `select amount, status, reason, call_body, provider_id is not null as is_known from refunds where organization_id = $1`,
    ),
    bonuses: await select(
      'select kind, amount, reversed_at is not null as is_reversed from bonuses where organization_id = $1',
    ),
    ledger: await select(
      'select seq, kind, amount, balance_after from balance_ledger where organization_id = $1 order by seq',
    ),
    balance: await select('select balance, version from org_account where organization_id = $1'),
    audit: await select(
      `select action from audit_log where organization_id = $1 and action like 'payment.%' order by action`,
    ),
    letters: await select(
      `select kind from email_outbox where recipient in (
         select u.email from memberships m join users u on u.id = m.user_id where m.organization_id = $1) order by kind`,
    ),
    differences: (await pool.query('select kind from payment_differences')).rows,
    till: {
      payments: there.map(({ status, amount, refunded_amount }) => ({ status, amount, refunded_amount })),
      refunds: journal.refunds
        .filter(({ payment_id }) => thereIds.has(payment_id))
        .map(({ status, amount }) => ({ status, amount })),
    },
  }
}

/** Something that leads to money, and is interrupted. */
type Flow<Subject extends { readonly payer: Payer }> = {
  readonly victim: Role
  /** Who else runs. */
  readonly others: readonly Role[]
  prepare(world: World): Promise<Subject>
  /** IDs that distinguish these steps from the victim's other steps; undefined: it has no others. */
  about?(subject: Subject): readonly string[]
  /** Starts the step. Settles once the victim has responded or was disconnected. A worker sends no response. */
  act(world: World, subject: Subject): Promise<unknown>
  /** What every interrupted caller does: asks again, or waits for the worker. */
  goOn(world: World, subject: Subject): Promise<void>
}

type Asking = {
  readonly payer: Payer
  readonly asker: Pick<Payer, 'cookie'>
  readonly path: string
  readonly body: object
  readonly key: string
}

/** A repeated call with the same key, which gets the same response. */
const asking = {
  victim: 'web',
  others: ['worker'],
  act: (world: World, { asker, path, body, key }: Asking) => world.post(asker, path, body, key),
  async goOn(world: World, { asker, path, body, key }: Asking) {
    await makeAllDue(world)
    await untilAtRest(world)
    const first = await world.post(asker, path, body, key)
    expect(first.status).toBe(201)
    await makeAllDue(world)
    await untilAtRest(world)
    expect((await world.post(asker, path, body, key)).body.id).toBe(first.body.id)
  },
} as const

const creating: Flow<Asking> = {
  ...asking,
  async prepare(world) {
    const payer = await makePayer(world.pool)
    return { payer, asker: payer, path: '/payments', body: { amount_rub: '1000' }, key: randomUUID() }
  },
}

const refunding: Flow<Asking> = {
  ...asking,
  victim: 'administration',
  others: ['web', 'worker'],
  async prepare(world) {
    const [{ payer, id }, asker] = [await pay(world), await makeAdministrator(world)]
    return { payer, asker, path: `/admin/payments/${id}/refunds`, body: { reason }, key: randomUUID() }
  },
}

const askAgain = (world: World, { payer, id }: Paying) =>
  world.post(payer, `/payments/${id}/refresh`, {}, randomUUID())

/** A payment without notification, posted because the page that polls asks for it. */
const refreshing: Flow<Paying> = {
  victim: 'web',
  others: ['worker'],
  async prepare(world) {
    const paying = await begin(world)
    await world.drive.pay(paying.providerId, 'lost')
    return paying
  },
  act: askAgain,
  goOn: async (world, paying) => expect((await askAgain(world, paying)).status).toBe(200),
}

/** The same, where the worker that was asked is killed, and the page asks again. */
const checking: Flow<Paying> = {
  victim: 'worker',
  others: ['web'],
  prepare: refreshing.prepare,
  about: ({ id, providerId }) => [id, providerId],
  async act({ pool }, { id }) {
    const checkId = randomUUID()
    await pool.query('insert into payment_checks (id, payment_id) values ($1, $2)', [checkId, id])
    await vi.waitFor(async () => {
      const { rows } = await pool.query('select outcome from payment_checks where id = $1', [checkId])
      expect(rows).toEqual([{ outcome: 'answered' }])
    }, answerWaiting)
  },
  async goOn(world, paying) {
    await vi.waitFor(async () => {
      const [payment] = await rowsOf(world, 'payments', paying.id)
      if (payment?.status !== 'succeeded') expect((await askAgain(world, paying)).status).toBe(200)
    }, waiting)
  },
}

type Notified = Paying & { readonly notification: string; readonly objectId: string }

const deliver = ({ drive }: World, { notification }: Notified) => drive.deliver(notification)

const notifying: Flow<Notified> = {
  victim: 'receiver',
  others: ['web', 'worker'],
  async prepare(world) {
    const paying = await begin(world)
    await world.drive.pay(paying.providerId)
    const notification = await notificationOf(world, paying.providerId)
    return { ...paying, notification, objectId: paying.providerId }
  },
  act: deliver,
  async goOn(world, notified) {
    expect(await deliver(world, notified)).toEqual([200])
    await untilAtRest(world)
  },
}

const waitingForWorker = {
  victim: 'worker',
  others: ['web', 'receiver'],
  about: ({ id, objectId, providerId }: Notified) => [id, objectId, providerId],
  act: deliver,
  async goOn(world: World) {
    await makeAllDue(world)
    await untilAtRest(world)
  },
} as const

const processing: Flow<Notified> = { ...waitingForWorker, prepare: notifying.prepare }

/** Of a kopeck, in the provider's console: less than 1000 ₽ are left. */
const reversing: Flow<Notified> = {
  ...waitingForWorker,
  async prepare(world) {
    const paying = await pay(world)
    const objectId = String((await world.drive.refund(paying.providerId, '0.01')).id)
    return { ...paying, objectId, notification: await notificationOf(world, objectId) }
  },
}

/** A call that the worker repeats, for the first one was answered 500. */
type Repeated = { readonly payer: Payer; readonly ids: readonly string[] }

const repeatingByWorker = {
  victim: 'worker',
  others: ['web'],
  about: ({ ids }: Repeated) => ids,
  act: makeAllDue,
  goOn: waitingForWorker.goOn,
} as const

const repeatingCreation: Flow<Repeated> = {
  ...repeatingByWorker,
  async prepare(world) {
    const payer = await makePayer(world.pool)
    await world.drive.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'not_done' })
    const { body } = await world.post(payer, '/payments', { amount_rub: '1000' }, randomUUID())
    await untilChecked(world, body.id)
    return { payer, ids: [body.id] }
  },
}

const repeatingRefund: Flow<Repeated> = {
  ...repeatingByWorker,
  others: ['web', 'administration'],
  async prepare(world) {
    const [{ payer, id, providerId }, administrator] = [await pay(world), await makeAdministrator(world)]
    await world.drive.misbehave({ on: 'create_refund', answer: 'internal_error', work: 'done' })
    await world.post(administrator, `/admin/payments/${id}/refunds`, { reason }, randomUUID())
    return { payer, ids: [id, providerId] }
  },
}

/** A balance of 100 ₽ below its threshold, and a saved card: one payment of 1000 ₽, whatever is killed. */
const toppingUp: Flow<Repeated> = {
  victim: 'worker',
  others: ['web'],
  about: ({ ids }) => ids,
  async prepare(world) {
    const payer = await makePayer(world.pool)
    const { version } = await readVersionInForce(world.pool, 'saved_card', 'en')
    const asked = { amount_rub: '100', saved_card_consent: version }
    const { body } = await world.post(payer, '/payments', asked, randomUUID())
    const [{ provider_id: methodId }] = await rowsOf(world, 'payments', body.id)
    await world.drive.pay(methodId, 'lost')
    await world.post(payer, `/payments/${body.id}/refresh`, {}, randomUUID())
    await world.pool.query(
      `update saved_cards set threshold_nano = 500000000000, amount_nano = 1000000000000, daily_max_nano = 5000000000000,
              next_check_at = 'infinity' where organization_id = $1`,
      [payer.organizationId],
    )
    return { payer, ids: [methodId] }
  },
  async act(world, { payer }) {
    await lookForLowBalances(world, payer)
    await untilToppedUp(world, payer, answerWaiting)
  },
  async goOn(world, { payer }) {
    await lookForLowBalances(world, payer)
    await makeAllDue(world)
    await untilToppedUp(world, payer, waiting)
    await untilAtRest(world)
  },
}

async function lookForLowBalances({ pool }: World, { organizationId }: Payer): Promise<void> {
  await pool.query(`update saved_cards set next_check_at = '-infinity' where organization_id = $1`, [
    organizationId,
  ])
  await pool.query("select pg_notify('model_gateway_changes', 'credits')")
}

async function untilToppedUp(
  { pool }: World,
  { organizationId }: Payer,
  options: typeof waiting,
): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await pool.query(
      'select status from payments where organization_id = $1 and automatic_day is not null',
      [organizationId],
    )
    expect(rows).toEqual([{ status: 'succeeded' }])
  }, options)
}

/** The final state, and the steps, without a kill. */
async function uninterrupted<Subject extends { readonly payer: Payer }>(world: World, flow: Flow<Subject>) {
  const subject = await flow.prepare(world)
  world.gate.count(flow.about?.(subject))
  await flow.act(world, subject)
  const untilAnswer = [...world.gate.taken]
  await untilAtRest(world)
  await flow.goOn(world, subject)
  const steps = flow.about === undefined ? untilAnswer : [...world.gate.taken]
  return { steps, state: await stateOf(world, subject.payer) }
}

async function killEverywhere<Subject extends { readonly payer: Payer }>(flow: Flow<Subject>) {
  await using world = await startWorld(flow.victim, flow.others)
  const expected = await uninterrupted(world, flow)
  expect(expected.steps.length).toBeLessThan(stepCountMax)
  for (const index of expected.steps.keys()) {
    const stepCount = index + 1
    const subject = await flow.prepare(world)
    void world.gate.closeAfter(stepCount, flow.about?.(subject))
    const acted = Promise.resolve(flow.act(world, subject)).catch(() => undefined)
    await vi.waitFor(() => expect(world.gate.taken).toHaveLength(stepCount), waiting)
    const last = world.gate.taken.at(-1)
    await world.killVictim()
    await world.restartVictim()
    await acted
    await flow.goOn(world, subject)
    const state = await stateOf(world, subject.payer)
    expect(state, `killed after step ${stepCount}: ${last}`).toEqual(expected.state)
  }
  expect((await checkInvariants(world.pool)).filter(({ breachCount }) => breachCount > 0)).toEqual([])
  return expected
}

const callsOf = (steps: readonly string[]) => steps.filter((step) => /^(?:GET|POST) /.test(step)).length

/** The email that goes with an entry, if one does. */
const letterOf: Readonly<Record<string, string>> = {
  top_up: 'payment_credited',
  refund: 'payment_refunded',
}

const refunded = ['top_up', 'welcome', 'refund', 'bonus_reversal']

// The longest first: five run at a time.
test.concurrent.each([
  ['administration gives a payment back', () => killEverywhere(refunding), { calls: 6, kinds: refunded }],
  [
    'the worker books a refund and takes the bonus back',
    () => killEverywhere(reversing),
    { calls: 8, kinds: refunded },
  ],
  [
    'the worker credits what a customer waits for',
    () => killEverywhere(checking),
    { calls: 2, kinds: ['top_up', 'welcome'] },
  ],
  [
    'the web process waits for a credit',
    () => killEverywhere(refreshing),
    { calls: 0, kinds: ['top_up', 'welcome'] },
  ],
  ['the web process orders a payment', () => killEverywhere(creating), { calls: 0, kinds: [] }],
  [
    'the worker processes a notification',
    () => killEverywhere(processing),
    { calls: 2, kinds: ['top_up', 'welcome'] },
  ],
  [
    'the worker gives a payment back again',
    () => killEverywhere(repeatingRefund),
    { calls: 6, kinds: refunded },
  ],
  ['the worker makes a payment again', () => killEverywhere(repeatingCreation), { calls: 2, kinds: [] }],
  [
    'the worker tops up with a saved card',
    () => killEverywhere(toppingUp),
    { calls: 2, kinds: ['top_up', 'top_up', 'welcome'] },
  ],
  [
    'the receiver stores a notification',
    () => killEverywhere(notifying),
    { calls: 0, kinds: ['top_up', 'welcome'] },
  ],
] as const)(
  'wherever it is killed while %s, it ends as if nobody had been',
  { timeout: 600_000 },
  async (_, run, { calls, kinds }) => {
    const { steps, state } = await run()
    // The counted kills are the planned ones, and led to something.
    expect(callsOf(steps)).toBe(calls)
    expect(steps.at(-1)).toBe('commit')
    expect(state.ledger.map(({ kind }) => kind)).toEqual(kinds)
    expect(state.letters.map(({ kind }) => kind)).toEqual(kinds.flatMap((kind) => letterOf[kind] ?? []))
  },
)
