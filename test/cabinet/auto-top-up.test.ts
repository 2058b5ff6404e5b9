import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, expect, test, vi } from 'vitest'
import { autoTopUpJob } from '#cabinet/payments/internal/auto-top-up-job'
import { automaticPaymentBody } from '#cabinet/payments/internal/call-body'
import { openShop } from '#cabinet/payments/shop'
import { checkInvariants } from '#core/ledger/invariants'
import { nanoRub } from '#core/ledger/money'
import { startTill } from '#standalone/yookassa/start-till'
import { forge } from '../support/forge.ts'
import { makePayer, type Payer, postAs } from '../support/payer.ts'
import { poolAs } from '../support/postgres.ts'
import { signedIn } from '../support/signed-in.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { callApi, driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { startTestWeb } from '../support/web.ts'

// A worker as a process makes the calls and posts. It does not look for low balances: each test does, with its role.
const stack = await stackOfThisFile()
const { pool } = stack.database
const till = await startTill({ ...testShop, receipts: 'required' })
const drive = driveTill(till.url)
const receipt = { RECEIPT_VAT_CODE: '1' }
const shopEnv = { ...shopSettingsOf(till), ...receipt }
await stack.startWorker(shopEnv)
const web = await startTestWeb(stack.database, {
  ...shopEnv,
  YOOKASSA_SAVED_CARDS: 'true',
  TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
})
const workers = poolAs('model_gateway_worker', stack.database)
const shop = openShop({
  ...testShop,
  url: till.apiUrl,
  isTest: true,
  savesCards: true,
  receipt: {
    vatCode: 1,
    taxSystemCode: undefined,
    paymentSubject: 'service',
    paymentMode: 'full_prepayment',
    internet: true,
    timezone: undefined,
  },
})
const job = autoTopUpJob({ pool: workers, log: pino({ level: 'silent' }) }, shop)
afterAll(async () => {
  await web[Symbol.asyncDispose]()
  await shop.close()
  await till.stop()
})

const never = new AbortController().signal
/** As if a worker had looked for low balances. */
const look = () => job.run(never, never)
const rub = 1_000_000_000n

const read = async ({ cookie }: Pick<Payer, 'cookie'>) =>
  (await web.call('GET', '/auto-top-up', { cookie })).body
const settings = { threshold_rub: '500', amount_rub: '1000', daily_max_rub: '3000' }
const turnOn = ({ cookie }: Pick<Payer, 'cookie'>, body: object = settings) =>
  web.call('PATCH', '/auto-top-up', { cookie, body })
const end = ({ cookie }: Pick<Payer, 'cookie'>) => web.call('DELETE', '/auto-top-up', { cookie })

async function begin(payer: Payer, fields: object = {}) {
  const { status, body } = await postAs(web, payer, '/payments', { amount_rub: '100', ...fields })
  const { rows } = await pool.query('select provider_id from payments where id = $1', [body.id])
  return { status, body, id: body.id as string, providerId: rows[0]?.provider_id as string }
}

async function pay(payer: Payer, { id, providerId }: { id: string; providerId: string }) {
  await drive.pay(providerId, 'lost')
  expect((await postAs(web, payer, `/payments/${id}/refresh`)).body).toMatchObject({ status: 'succeeded' })
}

/** A payer with 100 ₽ on the balance, paid with a card that was saved. */
async function makeSaved() {
  const payer = await makePayer(pool)
  const { consent_version } = await read(payer)
  const saving = await begin(payer, { saved_card_consent: consent_version })
  await pay(payer, saving)
  return { payer, ...saving }
}

/** A colleague with the card of another payer; both may pay. */
async function makeColleague({ organizationId }: Pick<Payer, 'organizationId'>) {
  const colleague = await makePayer(pool, { organizationId, memberRole: 'accountant' })
  return { ...colleague, saving: await begin(colleague, await consentOf(colleague)) }
}
const consentOf = async (payer: Payer) => ({ saved_card_consent: (await read(payer)).consent_version })

const withdraw = ({ userId }: Payer) =>
  pool.query(
    `insert into consents (user_id, kind, version, sha256, locale, withdrawn, address, agent)
     select user_id, kind, version, sha256, locale, true, '', '' from consents where user_id = $1 and kind = 'saved_card'`,
    [userId],
  )

async function automaticOf({ organizationId }: Pick<Payer, 'organizationId'>) {
  const { rows } = await pool.query(
    `select id, status, amount, cancellation_reason, user_id, automatic_day is not null as automatic from payments
      where organization_id = $1 and automatic_day is not null order by created_at`,
    [organizationId],
  )
  return rows
}

const untilStatuses = (payer: Payer, statuses: readonly string[]) =>
  vi.waitFor(async () => expect((await automaticOf(payer)).map(({ status }) => status)).toEqual(statuses), {
    timeout: 10_000,
    interval: 50,
  })

/** As if all automatic payments had been ordered earlier, and the next check were due. */
async function letTimePass({ organizationId }: Payer, minutes = 11) {
  await pool.query(
    `update payments set created_at = created_at - make_interval(mins => $2)
      where organization_id = $1 and automatic_day is not null`,
    [organizationId, minutes],
  )
  await pool.query(`update saved_cards set next_check_at = '-infinity' where organization_id = $1`, [
    organizationId,
  ])
}

async function lettersTo({ userId }: Pick<Payer, 'userId'>) {
  const { rows } = await pool.query(
    'select kind, vars from email_outbox where recipient = $1 order by created_at',
    [`${userId}@example.com`],
  )
  return rows as { kind: string; vars: Record<string, unknown> }[]
}

async function actionsOf({ organizationId }: Payer) {
  const { rows } = await pool.query(
    `select action from audit_log where organization_id = $1 and (action like 'card.%' or action = 'payment.create')
      order by id`,
    [organizationId],
  )
  return rows.map(({ action }) => action)
}

test('a card is saved only with the consent in force, and nothing is kept but what names it', async () => {
  const payer = await makePayer(pool)
  expect(await read(payer)).toMatchObject({
    is_available: true,
    state: 'no_card',
    card: null,
    settings: null,
  })
  await pay(payer, await begin(payer))
  expect(await read(payer)).toMatchObject({ state: 'no_card' })
  expect(await turnOn(payer)).toMatchObject({ status: 404 })
  const outdated = await begin(payer, { saved_card_consent: '2020-01-01' })
  expect(outdated).toMatchObject({ status: 409, body: { code: 'consent_outdated' } })

  const { payer: saver, id, providerId } = await makeSaved()
  const { rows } = await pool.query('select * from saved_cards where organization_id = $1', [
    saver.organizationId,
  ])
  const [card] = rows
  expect(card).toMatchObject({
    method_id: providerId,
    brand: 'MasterCard',
    last4: '4444',
    expires: '2030-12',
  })
  expect(JSON.stringify(card, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).not.toContain(
    '555555',
  )
  expect(await read(saver)).toMatchObject({ state: 'off', card: { last4: '4444' }, settings: null })
  const consents = await pool.query(
    `select c.kind, c.version, c.sha256, c.address from consents c join payments p on p.card_consent_id = c.id where p.id = $1`,
    [id],
  )
  expect(consents.rows).toEqual([
    {
      kind: 'saved_card',
      version: '2026-11-22',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      address: expect.any(String),
    },
  ])
})

test('a balance below the threshold is charged once, with a receipt, and is marked as automatic everywhere', async () => {
  const { payer, providerId } = await makeSaved()
  expect((await turnOn(payer)).body).toMatchObject({ state: 'on', settings })
  await Promise.all([look(), look(), look()])
  await untilStatuses(payer, ['succeeded'])
  await look()
  const [payment] = await automaticOf(payer)
  expect(payment).toMatchObject({ amount: 1000n * rub, user_id: payer.userId })
  const { payments } = await drive.journal()
  const there = payments.filter(({ metadata }) => metadata?.payment_id === payment.id)
  expect(there).toMatchObject([
    {
      status: 'succeeded',
      payment_method: { id: providerId, saved: true },
      receipt_registration: 'succeeded',
    },
  ])
  const { body } = await web.call('GET', '/payments', { cookie: payer.cookie })
  expect(body.data.map(({ is_automatic }: { is_automatic: boolean }) => is_automatic)).toEqual([true, false])
  expect(await read(payer)).toMatchObject({ state: 'on', charged_today_rub: '1000' })
  const letters = await lettersTo(payer)
  expect(letters.filter(({ vars }) => vars.last4 === '4444').map(({ kind }) => kind)).toEqual([
    'payment_credited',
  ])
  expect(await actionsOf(payer)).toEqual([
    'payment.create',
    'card.save',
    'card.set_top_ups',
    'payment.create',
  ])
})

test.each([['insufficient_funds'], ['permission_revoked']] as const)(
  'after one failure (%s) nothing more is charged until it is turned on again, and one email explains it',
  async (reason) => {
    const { payer, providerId } = await makeSaved()
    await turnOn(payer)
    if (reason === 'permission_revoked') await drive.revokeMethod(providerId)
    else await drive.set({ savedCards: reason })
    await look()
    await untilStatuses(payer, ['canceled'])
    await drive.set({ savedCards: 'pay' })
    expect(await read(payer)).toMatchObject({ state: 'stopped', stop: { reason }, charged_today_rub: '0' })
    await letTimePass(payer)
    await look()
    await untilStatuses(payer, ['canceled'])
    const kinds = (await lettersTo(payer)).map(({ kind }) => kind)
    expect(kinds).toEqual(['payment_credited', 'auto_top_up_stopped'])
    expect((await turnOn(payer)).body).toMatchObject({ state: 'on', stop: null })
    await look()
    await untilStatuses(payer, ['canceled', reason === 'permission_revoked' ? 'canceled' : 'succeeded'])
  },
)

test('one click ends it: the card is gone, an order without a call is canceled, and an unpaid payment saves no card', async () => {
  const { payer } = await makeSaved()
  const unpaid = await begin(payer, { saved_card_consent: (await read(payer)).consent_version })
  await turnOn(payer)
  expect(await orderUncalled(payer.organizationId)).toBe(true)
  expect((await end(payer)).status).toBe(204)
  expect(await automaticOf(payer)).toMatchObject([
    { status: 'canceled', cancellation_reason: 'canceled_by_merchant' },
  ])
  await pay(payer, unpaid)
  expect(await read(payer)).toMatchObject({ state: 'no_card', card: null })
  expect((await end(payer)).status).toBe(204)
})

test.each([
  ['removed', (payer: Payer) => end(payer)],
  [
    'stopped',
    ({ organizationId }: Payer) =>
      pool.query('update organizations set blocked_at = now() where id = $1', [organizationId]),
  ],
  ['replaced', async (payer: Payer) => pay(payer, await begin(payer, await consentOf(payer)))],
] as const)(
  'a call of unknown outcome is not repeated once its card was %s, and a late success is credited',
  async (_, endCard) => {
    const [lost, late] = [await makeLostCharge('not_done'), await makeLostCharge('done')]
    for (const payer of [lost, late]) {
      await endCard(payer)
      await repeatCalls(payer)
    }
    await untilStatuses(lost, ['canceled'])
    await untilStatuses(late, ['succeeded'])
    expect(await automaticOf(lost)).toMatchObject([{ cancellation_reason: 'canceled_by_merchant' }])
    expect((await lettersTo(lost)).map(({ kind }) => kind)).not.toContain('auto_top_up_stopped')
    const { payments } = await drive.journal()
    const chargesOf = async (payer: Payer) => {
      const [{ id }] = await automaticOf(payer)
      return payments.filter(({ metadata }) => metadata?.payment_id === id).length
    }
    expect([await chargesOf(lost), await chargesOf(late)]).toEqual([0, 1])
  },
)

/** A payer with an automatic payment whose worker died during the call; `done`: the provider has charged the card. */
async function makeLostCharge(work: 'done' | 'not_done'): Promise<Payer> {
  const { payer, providerId } = await makeSaved()
  await turnOn(payer)
  const [id, email] = [randomUUID(), `${payer.userId}@example.com`]
  const sale = { id, amount: nanoRub(1000n * rub), email, receipt: shop.receipt }
  const callBody = automaticPaymentBody({ ...sale, methodId: providerId })
  expect(await orderUncalled(payer.organizationId, { id, callBody, calls: 1 })).toBe(true)
  if (work === 'done') await callApi(till, 'POST', '/payments', { body: JSON.parse(callBody), key: id })
  return payer
}

/** As if the lease of the call had ended. */
const repeatCalls = ({ organizationId }: Payer) =>
  pool.query(
    'update payments set next_call_at = now() where organization_id = $1 and call_body is not null',
    [organizationId],
  )

test('the card of another payer is charged only after that payer turned it on', async () => {
  const { payer } = await makeSaved()
  await turnOn(payer)
  const colleague = await makeColleague(payer)
  expect(await turnOn(colleague)).toMatchObject({ status: 403, body: { code: 'not_own_card' } })
  await pay(colleague, colleague.saving)
  expect(await read(payer)).toMatchObject({ state: 'off', settings: null, stop: null })
  await look()
  expect(await automaticOf(payer)).toEqual([])
  expect(await turnOn(payer)).toMatchObject({ status: 403, body: { code: 'not_own_card' } })
  expect(await turnOn(colleague)).toMatchObject({ status: 200, body: { state: 'on' } })
})

test('ending withdraws the consents to cards of this organization, also before the first is saved, and none elsewhere', async () => {
  const { payer } = await makeSaved()
  const elsewhere = (await makeSaved()).payer
  await pool.query('update saved_cards set user_id = $1 where organization_id = $2', [
    payer.userId,
    elsewhere.organizationId,
  ])
  const colleague = await makeColleague(payer)
  const first = await makePayer(pool)
  const saving = await begin(first, await consentOf(first))
  for (const each of [payer, first]) expect((await end(each)).status).toBe(204)
  for (const { userId } of [payer, colleague, first]) {
    const { rows } = await pool.query(
      `select withdrawn, address <> '' as "hasPlace" from consents where user_id = $1 and kind = 'saved_card' order by id`,
      [userId],
    )
    expect(rows).toEqual([
      { withdrawn: false, hasPlace: true },
      { withdrawn: true, hasPlace: true },
    ])
  }
  await pay(colleague, colleague.saving)
  await pay(first, saving)
  for (const each of [payer, first]) expect(await read(each)).toMatchObject({ state: 'no_card' })
  expect(await read(elsewhere)).toMatchObject({ state: 'off' })
})

test('a consent that was withdrawn while the payment was unpaid saves no card', async () => {
  const payer = await makePayer(pool)
  const saving = await begin(payer, await consentOf(payer))
  await withdraw(payer)
  await pay(payer, saving)
  expect(await read(payer)).toMatchObject({ state: 'no_card' })
})

test('a charge of a replaced card does not stop the new one, and its email names the card that was charged', async () => {
  const [declined, paid] = [await makeWaitingCharge(), await makeWaitingCharge()]
  for (const { payer } of [declined, paid]) {
    await pay(payer, await begin(payer, await consentOf(payer)))
    await pool.query(`update saved_cards set last4 = '1111' where organization_id = $1`, [
      payer.organizationId,
    ])
  }
  await drive.decline(declined.providerId)
  await drive.pay(paid.providerId, 'lost')
  for (const { payer, id } of [declined, paid]) await postAs(web, payer, `/payments/${id}/refresh`)
  await untilStatuses(declined.payer, ['canceled'])
  await untilStatuses(paid.payer, ['succeeded'])
  expect(await read(declined.payer)).toMatchObject({ state: 'on', stop: null })
  expect((await lettersTo(declined.payer)).map(({ kind }) => kind)).not.toContain('auto_top_up_stopped')
  const named = (await lettersTo(paid.payer)).flatMap(({ vars }) => vars.last4 ?? [])
  expect(named).toEqual(['4444'])
})

/** A payer with an automatic payment that the provider has created and not yet charged. */
async function makeWaitingCharge() {
  const { payer } = await makeSaved()
  await turnOn(payer)
  await drive.set({ savedCards: 'wait' })
  await look()
  const charge = await vi.waitFor(async () => {
    const { rows } = await pool.query(
      `select id, provider_id as "providerId" from payments
        where organization_id = $1 and automatic_day is not null and provider_id is not null`,
      [payer.organizationId],
    )
    expect(rows).toHaveLength(1)
    return rows[0] as { id: string; providerId: string }
  })
  await drive.set({ savedCards: 'pay' })
  return { payer, ...charge }
}

test('a change of the time zone does not renew the maximum of a day', async () => {
  const { payer } = await makeSaved()
  const moveTo = (zone: string) =>
    pool.query('update organizations set time_zone = $2 where id = $1', [payer.organizationId, zone])
  await moveTo('Pacific/Pago_Pago')
  await turnOn(payer, { threshold_rub: '5000', amount_rub: '1000', daily_max_rub: '1000' })
  await look()
  await untilStatuses(payer, ['succeeded'])
  await moveTo('Pacific/Kiritimati') // always a later day there
  await letTimePass(payer)
  await look()
  expect(await orderUncalled(payer.organizationId)).toBe(false)
  expect(await read(payer)).toMatchObject({ charged_today_rub: '1000' })
  await letTimePass(payer, 24 * 60)
  await look()
  await untilStatuses(payer, ['succeeded', 'succeeded'])
})

test('a check that fails holds up no other organization, also while its card is being changed', async () => {
  const [failing, other] = [(await makeSaved()).payer, (await makeSaved()).payer]
  for (const each of [failing, other]) await turnOn(each)
  await pool.query(`update saved_cards set next_check_at = '2000-01-01' where organization_id = $1`, [
    other.organizationId,
  ])
  await pool.query(`create function fail_order() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(4242); raise exception 'fails in a test'; end $$`)
  await pool.query(`create trigger fail_order before insert on payments for each row
    when (new.organization_id = '${failing.organizationId}') execute function fail_order()`)
  const [holder, changer] = [await pool.connect(), await pool.connect()]
  const untilWaiting = (count: number) =>
    vi.waitFor(async () => {
      const { rows } = await pool.query(
        `select from pg_locks l join pg_stat_activity a using (pid)
          where not l.granted and a.datname = current_database()`,
      )
      expect(rows).toHaveLength(count)
    })
  try {
    await holder.query('select pg_advisory_lock(4242)')
    const looking = look()
    await untilWaiting(1)
    await changer.query('begin')
    const changing = changer.query('select from saved_cards where organization_id = $1 for update', [
      failing.organizationId,
    ])
    await untilWaiting(2)
    await holder.query('select pg_advisory_unlock(4242)')
    await changing
    await looking
    await changer.query('commit') // it held the card until now
    await untilStatuses(other, ['succeeded'])
  } finally {
    holder.release(true)
    changer.release(true)
    await pool.query('drop function fail_order cascade')
  }
})

test('a card ends with the permission of its owner, and stops with a block', async () => {
  const { organizationId, userId } = (await makeSaved()).payer
  await pool.query(`update memberships set role = 'developer' where user_id = $1`, [userId])
  const left = (await makeSaved()).payer
  const colleague = await signedIn(pool, { organizationId: left.organizationId })
  await pool.query('delete from memberships where user_id = $1', [left.userId])
  expect(await read(colleague)).toMatchObject({ state: 'no_card' })
  const withdrawn = (await makeSaved()).payer
  await withdraw(withdrawn)
  const { rows } = await pool.query('select from saved_cards where organization_id = any ($1)', [
    [organizationId, left.organizationId, withdrawn.organizationId],
  ])
  expect(rows).toEqual([])

  const blocked = (await makeSaved()).payer
  await turnOn(blocked)
  await pool.query('update organizations set blocked_at = now() where id = $1', [blocked.organizationId])
  expect(await read(blocked)).toMatchObject({ state: 'stopped', stop: { reason: 'blocked' } })
  await turnOn(blocked)
  await look()
  expect(await automaticOf(blocked)).toEqual([])
  expect(await read(blocked)).toMatchObject({ state: 'stopped', stop: { reason: 'blocked' } })
})

test('only the payer of the card changes it, only members who may pay end it, and settings beyond a limit are rejected', async () => {
  const { payer } = await makeSaved()
  const { organizationId } = payer
  const developer = await signedIn(pool, { organizationId, memberRole: 'developer' })
  const accountant = await signedIn(pool, { organizationId, memberRole: 'accountant' })
  for (const call of [turnOn, end]) expect(await call(developer)).toMatchObject({ status: 403 })
  for (const [wrong, path] of [
    [{ amount_rub: '99.99' }, 'amount_rub'],
    [{ amount_rub: '350000.01', daily_max_rub: '400000' }, 'amount_rub'],
    [{ daily_max_rub: '999.99' }, 'daily_max_rub'],
    [{ threshold_rub: '-1' }, 'threshold_rub'],
    [{ threshold_rub: '0.001' }, 'threshold_rub'],
  ] as const) {
    const { status, body } = await turnOn(payer, { ...settings, ...wrong })
    expect({ status, paths: body.errors?.map((error: { path: string }) => error.path) }).toEqual({
      status: 422,
      paths: [path],
    })
  }
  expect((await end(accountant)).status).toBe(204)
})

test('however workers race, automatic payments of a day never exceed its maximum, and none follow within 10 minutes', async () => {
  const { payer } = await makeSaved()
  const { organizationId } = payer
  const day = fc.record({
    amount: fc.integer({ min: 100, max: 900 }),
    max: fc.integer({ min: 900, max: 2500 }),
    rounds: fc.array(
      fc.record({ passes: fc.boolean(), fails: fc.boolean(), racing: fc.integer({ min: 2, max: 4 }) }),
      { minLength: 1, maxLength: 6 },
    ),
  })
  await fc.assert(
    fc.asyncProperty(day, async ({ amount, max, rounds }) => {
      await forge(
        pool,
        `delete from payments where organization_id = '${organizationId}' and automatic_day is not null`,
      )
      await turnOn(payer, { threshold_rub: '500', amount_rub: `${amount}`, daily_max_rub: `${max}` })
      for (const { passes, fails, racing } of rounds) {
        if (passes) await letTimePass(payer)
        const before = (await automaticOf(payer)).length
        const ordered = await Promise.all(Array.from({ length: racing }, () => orderUncalled(organizationId)))
        const count = ordered.filter(Boolean).length
        expect(count).toBeLessThanOrEqual(passes || before === 0 ? 1 : 0)
        await finish(organizationId, fails)
      }
      const { rows } = await pool.query<{ total: bigint }>(
        `select coalesce(sum(amount), 0)::bigint as total from payments
          where organization_id = $1 and automatic_day is not null and status <> 'canceled'`,
        [organizationId],
      )
      expect(rows[0]?.total).toBeLessThanOrEqual(BigInt(max) * rub)
    }),
    { numRuns: 15 },
  )
  const breaches = (await checkInvariants(pool)).find(
    ({ name }) => name === 'automatic_payments_keep_the_daily_max',
  )
  expect(breaches).toMatchObject({ breachCount: 0 })
  await forge(
    pool,
    `delete from payments where organization_id = '${organizationId}' and automatic_day is not null`,
  )
})

/** Orders a payment as a worker does, but leaves it to no worker to call. */
async function orderUncalled(
  organizationId: string,
  { id = randomUUID(), callBody = '{}', calls = 0 } = {},
): Promise<boolean> {
  const client = await workers.connect()
  try {
    await client.query('begin')
    await client.query("select set_config('model_gateway.organization_id', 'platform', true)")
    const { rows } = await client.query('select order_automatic_payment($1, $2, $3) as ordered', [
      id,
      organizationId,
      callBody,
    ])
    await client.query('update payments set next_call_at = null, calls = $2 where id = $1', [id, calls])
    await client.query('commit')
    return rows[0].ordered
  } finally {
    client.release()
  }
}

/** As if the unfinished automatic payments had been paid or canceled. */
function finish(organizationId: string, fails: boolean): Promise<void> {
  const ended = fails
    ? `status = 'canceled'`
    : `status = 'succeeded', succeeded_at = now(), provider_id = id::text`
  return forge(
    pool,
    `update payments set ${ended}, next_call_at = null, call_body = null
      where organization_id = '${organizationId}' and automatic_day is not null and status = 'pending'`,
  )
}
