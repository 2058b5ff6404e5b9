import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { setTwoPersonRule } from '#cabinet/approvals/two-person-rule'
import { inScope } from '#core/audit/scope'
import { checkInvariants } from '#core/ledger/invariants'
import { startTill } from '#standalone/yookassa/start-till'
import { adminCommand } from '../support/administrators.ts'
import { createCustomer } from '../support/customer.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { callApi, driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { administrationOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const till = await startTill(testShop)
const drive = driveTill(till.url)
const administration = await administrationOfThisFile(database, shopSettingsOf(till))
const reason = 'a mistake of ours'

type Admin = Awaited<ReturnType<typeof signedInAdministrator>>

const post = (admin: Admin, path: string, body: object = { reason }, key: string = randomUUID()) =>
  administration.call('POST', path, { cookie: admin.cookie, body, headers: { 'idempotency-key': key } })
const adjust = (admin: Admin, organizationId: string, amount_rub: string, key?: string) =>
  post(admin, `/admin/organizations/${organizationId}/adjustments`, { reason, amount_rub }, key)
const approve = (admin: Admin, id: string, key?: string) =>
  post(admin, `/admin/approvals/${id}/approve`, { reason: 'checked' }, key)
const decline = (admin: Admin, id: string) =>
  post(admin, `/admin/approvals/${id}/decline`, { reason: 'not our mistake' })

const two = async () => [await signedInAdministrator(pool), await signedInAdministrator(pool)] as const

async function newOrganization(): Promise<string> {
  return (await createCustomer(pool)).organizationId
}

/** Kinds and nano-rubles, oldest first. */
async function ledgerOf(organizationId: string) {
  const { rows } = await pool.query<{ kind: string; amount: bigint }>(
    'select kind, amount from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows.map(({ kind, amount }) => `${kind} ${amount / 1_000_000_000n}`)
}

async function auditOf(organizationId: string) {
  const { rows } = await pool.query<{ action: string; actor_id: string; reason: string }>(
    `select action, actor_id, reason from audit_log
      where organization_id = $1 and actor_kind = 'administrator' order by id`,
    [organizationId],
  )
  return rows.map(({ action, actor_id, reason: why }) => [action, actor_id, why])
}

/** A request for 5,001 ₽ that waits. */
async function requested() {
  const [asker, other] = await two()
  const organizationId = await newOrganization()
  const { status, body } = await adjust(asker, organizationId, '5001')
  expect({ status, body }).toMatchObject({ status: 202, body: { state: 'pending', because: 'amount' } })
  return { asker, other, organizationId, id: body.id as string }
}

describe('an adjustment', () => {
  test('of 5,000 ₽ in a day is made by one administrator, and what exceeds it waits, in parts or at once, for each organization', async () => {
    const [asker, other] = await two()
    const [one, two_] = [await newOrganization(), await newOrganization()]
    expect((await adjust(asker, one, '2000')).status).toBe(201)
    expect((await adjust(asker, one, '-3000')).status).toBe(201)
    expect((await adjust(asker, one, '0.000000001')).status).toBe(202)
    expect((await adjust(asker, two_, '5000')).status).toBe(201)
    expect((await adjust(other, one, '-5000.01')).status).toBe(202)
    expect(await ledgerOf(one)).toEqual(['adjustment 2000', 'adjustment -3000'])
    await pool.query('alter table money_orders disable trigger refuse_change')
    await pool.query(
      "update money_orders set ordered_at = now() - interval '25 hours' where organization_id = $1",
      [one],
    )
    await pool.query('alter table money_orders enable trigger refuse_change')
    expect((await adjust(asker, one, '5000')).status).toBe(201)
  })

  test('of ten at once of one administrator, those that exceed the limit together wait', async () => {
    const [asker] = await two()
    const organizationId = await newOrganization()
    const answers = await Promise.all(Array.from({ length: 10 }, () => adjust(asker, organizationId, '1000')))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array(5).fill(201),
      ...Array(5).fill(202),
    ])
    expect(await ledgerOf(organizationId)).toEqual(Array(5).fill('adjustment 1000'))
  })

  test('that waits moves nothing until another administrator approves, and then exactly once', async () => {
    const { asker, other, organizationId, id } = await requested()
    expect(await ledgerOf(organizationId)).toEqual([])
    const own = await approve(asker, id)
    expect([own.status, own.body.code]).toEqual([403, 'another_administrator_required'])
    const key = randomUUID()
    const approved = await approve(other, id, key)
    expect(approved).toMatchObject({
      status: 200,
      body: { state: 'approved', decided_by: other.administratorId, decision_reason: 'checked' },
    })
    expect((await approve(other, id, key)).body).toEqual(approved.body)
    expect((await approve(other, id)).body.code).toBe('already_decided')
    expect((await decline(other, id)).body.code).toBe('already_decided')
    expect(await ledgerOf(organizationId)).toEqual(['adjustment 5001'])
    expect(await auditOf(organizationId)).toEqual([
      ['approval.request', asker.administratorId, reason],
      ['organization.credit', other.administratorId, 'checked'],
      ['approval.approve', other.administratorId, 'checked'],
    ])
  })

  test('is made once by ten approvals at once of three administrators', async () => {
    const { other, organizationId, id } = await requested()
    const approvers = [other, ...(await two())]
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => approve(approvers[index % 3] ?? other, id)),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(409)])
    expect(await ledgerOf(organizationId)).toEqual(['adjustment 5001'])
  })

  test('is either approved or declined, never both', async () => {
    const { asker, other, organizationId, id } = await requested()
    const answers = await Promise.all([approve(other, id), decline(asker, id)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const { rows } = await pool.query('select state from money_orders where id = $1', [id])
    expect(await ledgerOf(organizationId)).toEqual(rows[0]?.state === 'approved' ? ['adjustment 5001'] : [])
  })

  test('that was declined, or waited for more than 7 days, is never made', async () => {
    const [declined, late] = [await requested(), await requested()]
    expect((await decline(declined.asker, declined.id)).body).toMatchObject({ state: 'declined' })
    await pool.query("update money_orders set expires_at = now() - interval '1 s' where id = $1", [late.id])
    for (const { other, id, organizationId } of [declined, late]) {
      expect((await approve(other, id)).body.code).toBe('already_decided')
      expect(await ledgerOf(organizationId)).toEqual([])
    }
    const { body } = await administration.call('GET', '/admin/approvals?state=all&limit=200', {
      cookie: late.other.cookie,
    })
    const shown = body.data.find(({ id }: { readonly id: string }) => id === late.id)
    expect(shown).toMatchObject({ state: 'expired', decided_by: null })
  })

  test('once requested by a key is the same request, however often it is repeated', async () => {
    const [asker] = await two()
    const organizationId = await newOrganization()
    const key = randomUUID()
    const [first, second] = [
      await adjust(asker, organizationId, '9000', key),
      await adjust(asker, organizationId, '9000', key),
    ]
    expect(second).toMatchObject({ status: 202, body: first.body })
    const { rows } = await pool.query('select from money_orders where organization_id = $1', [organizationId])
    expect(rows).toHaveLength(1)
  })

  test('to an organization of its administrator waits, however small, and no member of it approves', async () => {
    const [stranger] = await two()
    const member = await signedIn(pool)
    const name = randomUUID()
    await pool.query('update users set email = $2 where id = $1', [member.userId, `${name}@gmail.com`])
    const asker = await signedInAdministrator(pool, { email: `${name.toUpperCase()}+admin@googlemail.com` })
    const small = await adjust(asker, member.organizationId, '0.01')
    expect(small).toMatchObject({ status: 202, body: { because: 'own_organization' } })
    const large = await adjust(stranger, member.organizationId, '6000')
    expect((await approve(asker, large.body.id)).body.code).toBe('another_administrator_required')
    expect((await approve(stranger, small.body.id)).status).toBe(200)
    expect(await ledgerOf(member.organizationId)).toHaveLength(1)
  })

  test('is approved only with a code of the last 5 minutes, and only by an administrator', async () => {
    const { id, organizationId } = await requested()
    const late = await signedInAdministrator(pool, { mfaAt: new Date(Date.now() - 301_000) })
    expect((await approve(late, id)).body.code).toBe('mfa_step_up_required')
    expect((await approve({ administratorId: '', cookie: '' }, id)).status).toBe(401)
    for (const unknown of [randomUUID(), 'none'])
      expect((await approve((await two())[0], unknown)).status).toBe(404)
    expect(await ledgerOf(organizationId)).toEqual([])
  })
})

test('requests are listed newest first, page by page', async () => {
  const made = [await requested(), await requested(), await requested()].map(({ id }) => id)
  const { cookie } = await signedInAdministrator(pool)
  const seen: string[] = []
  let cursor = ''
  while (!made.every((id) => seen.includes(id))) {
    const { status, body } = await administration.call('GET', `/admin/approvals?limit=2${cursor}`, { cookie })
    expect(status).toBe(200)
    seen.push(...body.data.map(({ id }: { readonly id: string }) => id))
    cursor = `&cursor=${body.next_cursor}`
  }
  expect(seen.filter((id) => made.includes(id))).toEqual(made.toReversed())
  expect(new Set(seen).size).toBe(seen.length)
})

describe('a refund', () => {
  /** A payment that was credited. */
  async function paid(amount: string) {
    const { organizationId, userId } = await signedIn(pool)
    const id = randomUUID()
    const { body } = await callApi(till, 'POST', '/payments', {
      body: {
        amount: { value: amount, currency: 'RUB' },
        confirmation: { type: 'redirect', return_url: 'http://localhost:3000/' },
        metadata: { payment_id: id },
        capture: true,
      },
    })
    const providerId = String(body.id)
    await drive.pay(providerId, 'lost')
    await pool.query(
      `with made as (insert into payments (id, organization_id, user_id, amount, provider_id, next_call_at)
                     values ($1, $2, $3, $4::numeric * 1000000000, $5, null) returning id, provider_id, amount)
       insert into payment_evidence (payment_id, provider_id, status, paid, amount)
       select id, provider_id, 'succeeded', true, amount from made`,
      [id, organizationId, userId, amount, providerId],
    )
    await pool.query(
      `with paid as (update payments set status = 'succeeded', succeeded_at = now(),
                       evidence_id = (select max(id) from payment_evidence where payment_id = $1)
                     where id = $1 returning id, organization_id, amount)
       select post_credit(organization_id, 'top_up', id, amount, now()) from paid`,
      [id],
    )
    return { id, organizationId, providerId }
  }

  const refund = (admin: Admin, paymentId: string, fields: object = {}) =>
    post(admin, `/admin/payments/${paymentId}/refunds`, { reason, ...fields })
  const refundsOf = async (providerId: string) =>
    (await drive.journal()).refunds.filter(({ payment_id }) => payment_id === providerId)

  test('above 5,000 ₽ is made at the provider once, when another administrator approves', async () => {
    const [asker, other] = await two()
    const { id, organizationId, providerId } = await paid('6000.00')
    const asked = await refund(asker, id)
    expect(asked).toMatchObject({ status: 202, body: { kind: 'refund', amount_rub: '6000', payment_id: id } })
    expect(await refundsOf(providerId)).toEqual([])
    const approvals = await Promise.all([approve(other, asked.body.id), approve(other, asked.body.id)])
    expect(approvals.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await refundsOf(providerId)).toHaveLength(1)
    await vi.waitFor(async () =>
      expect(await ledgerOf(organizationId)).toEqual(['top_up 6000', 'refund -6000']),
    )
    const { rows } = await pool.query('select made_by, id from refunds where payment_id = $1', [id])
    expect(rows).toEqual([{ made_by: asker.administratorId, id: asked.body.id }])
  })

  test('that is no more possible when it is approved moves nothing, and still waits', async () => {
    const [asker, other] = await two()
    const { id, providerId } = await paid('6000.00')
    const asked = await refund(asker, id)
    expect((await refund(other, id, { amount_rub: '1000' })).status).toBe(201)
    expect((await approve(other, asked.body.id)).body.code).toBe('refund_not_possible')
    expect(await refundsOf(providerId)).toHaveLength(1)
    const { rows } = await pool.query('select state from money_orders where id = $1', [asked.body.id])
    expect(rows).toEqual([{ state: 'pending' }])
  })
})

describe('the rule', () => {
  const asOwner = (wish: 'on' | 'off') =>
    inScope(pool, { actor: { kind: 'command', name: 'npm run admin' }, organizationId: null }, (client) =>
      setTwoPersonRule(client, wish),
    )
  const blockOthers = (id: string) =>
    pool.query('update administrators set blocked_at = now() where id <> $1 and blocked_at is null', [id])
  afterEach(() => asOwner('on'))

  test('is turned off only by a command while there is one administrator, which is audited, and counts again with a second', async () => {
    const [asker] = await two()
    expect(await asOwner('off')).toBe('several_administrators')
    await blockOthers(asker.administratorId)
    const { stdout } = await adminCommand(database.url, ['--two-person-rule', 'off'])
    expect(stdout).toBe('The two-person rule is off.\n')
    const organizationId = await newOrganization()
    expect((await adjust(asker, organizationId, '9000')).status).toBe(201)
    await signedInAdministrator(pool)
    expect((await adjust(asker, organizationId, '9000')).status).toBe(202)
    expect(await asOwner('on')).toBe('changed')
    expect(await asOwner('on')).toBe('unchanged')
    const { rows } = await pool.query(
      "select actor_kind, before, after from audit_log where action = 'administration.two_person_rule' order by id",
    )
    expect(rows).toEqual([
      { actor_kind: 'command', before: { isOn: true }, after: { isOn: false } },
      { actor_kind: 'command', before: { isOn: false }, after: { isOn: true } },
    ])
  })

  test.each([
    'update two_person_rule set is_on = false',
    'delete from two_person_rule',
    'update money_orders set amount = 1',
    'insert into money_orders (decided_by) values (gen_random_uuid())',
    'delete from money_orders',
  ])('is not changed by the administration process: %s', async (sql) => {
    const process = poolAs('model_gateway_administration', database)
    await expect(process.query(sql)).rejects.toMatchObject({ code: '42501' })
  })

  test('is kept by Postgres: no order is approved by its own administrator, late, or twice', async () => {
    const { asker, other, id } = await requested()
    const process = poolAs('model_gateway_administration', database)
    const decide = (by: Admin, at = 'now()', state = 'approved') =>
      process.query(
        `update money_orders set state = '${state}', decided_by = $2, decided_at = ${at}, decision_reason = 'x' where id = $1`,
        [id, by.administratorId],
      )
    await expect(decide(asker)).rejects.toMatchObject({ code: '23514' })
    await expect(decide(other, "now() + interval '8 days'")).rejects.toMatchObject({ code: '23514' })
    await decide(other, 'now()', 'declined')
    await expect(decide(other)).rejects.toThrow()
  })
})

test('all of it leaves a ledger whose invariants hold', async () => {
  expect((await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0)).toEqual([])
})
