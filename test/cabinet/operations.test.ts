import { randomUUID } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { readBalance } from '#core/ledger/balance'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { chargesName, shardOf } from '#core/redis/shard'
import { createCustomer, recordOf, uuidV7 } from '../support/customer.ts'
import { poolAs } from '../support/postgres.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { administrationOfThisFile } from '../support/web.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const { pool } = stack.database
const worker = await stack.startWorker({ INVARIANTS_EVERY_MS: '200' })
const administration = await administrationOfThisFile(stack.database)
const { cookie, administratorId } = await signedInAdministrator(pool)
const waiting = { timeout: 20_000, interval: 20 }
const reason = 'the key was restored'

const get = (path: string) => administration.call('GET', path, { cookie })
const post = (
  path: string,
  options: { readonly as?: string; readonly key?: string; readonly body?: object } = {},
) =>
  administration.call('POST', path, {
    cookie: options.as ?? cookie,
    body: options.body ?? { reason },
    headers: { 'idempotency-key': options.key ?? randomUUID() },
  })
const decide = (id: string, how: 'post' | 'write-off', options?: Parameters<typeof post>[1]) =>
  post(`/admin/rejected-charges/${id}/${how}`, options)

/** A charge of a key that Postgres does not have, as after a restore; `restoreKey` brings the key back. */
async function rejectedCharge(fields: Readonly<Record<string, string>> = {}) {
  const customer = await createCustomer(pool, { balanceNano: 1_000n })
  const [requestId, lostKey] = [uuidV7(), randomUUID()]
  const entry = {
    request: requestId,
    rank: '1',
    organization: customer.organizationId,
    key: lostKey,
    day: '20000',
    cost: '300',
    pending: '0',
    at: '1',
    record: JSON.stringify(recordOf()),
    ...fields,
  }
  const name = chargesName(shardOf(customer.organizationId))
  const streamId = await view.ask((redis) => redis.xadd(name, '*', ...Object.entries(entry).flat()))
  const id = await vi.waitFor(async () => {
    const { rows } = await pool.query('select id from charges_rejected where stream_id = $1', [streamId])
    expect(rows).toHaveLength(1)
    return String(rows[0].id)
  }, waiting)
  const restoreKey = () =>
    pool.query(
      `insert into api_keys (id, organization_id, name, managed_by) values ($1, $2, 'restored', 'cabinet')`,
      [lostKey, customer.organizationId],
    )
  return { ...customer, id, requestId, restoreKey }
}

async function chargesOf(organizationId: string): Promise<bigint[]> {
  const { rows } = await pool.query<{ amount: bigint }>(
    "select amount from balance_ledger where organization_id = $1 and kind = 'charge'",
    [organizationId],
  )
  return rows.map(({ amount }) => amount)
}

async function auditOf(id: string): Promise<string[]> {
  const { rows } = await pool.query<{ action: string }>(
    "select action from audit_log where subject_kind = 'RejectedCharge' and subject_id = $1 order by id",
    [id],
  )
  return rows.map(({ action }) => action)
}

describe('a rejected charge', () => {
  test('is listed with its request, amount and reason until it is decided, and the gauge counts only such', async () => {
    const { id, requestId, organizationId } = await rejectedCharge()
    const { body } = await get('/admin/rejected-charges')
    expect(body.data.find((charge: { id: string }) => charge.id === id)).toMatchObject({
      organization_id: organizationId,
      request_id: requestId,
      amount_rub: '0.0000003',
      can_be_posted: true,
      state: 'open',
      error: expect.stringContaining('no such key'),
    })
    const open = async () => (await get('/admin/operations/state')).body.open.rejected_charges
    const before = await open()
    await vi.waitFor(async () => expect(await readMetric(worker, 'rejected_charges')).toBe(before), waiting)
    expect((await decide(id, 'write-off')).body).toMatchObject({
      state: 'written_off',
      decided_by: administratorId,
      decision_reason: reason,
    })
    expect(await open()).toBe(before - 1)
    await vi.waitFor(
      async () => expect(await readMetric(worker, 'rejected_charges')).toBe(before - 1),
      waiting,
    )
    const { body: all } = await get('/admin/rejected-charges?state=all')
    expect(all.data.map((charge: { id: string }) => charge.id)).toContain(id)
    expect(await chargesOf(organizationId)).toEqual([])
    expect(await auditOf(id)).toEqual(['charge.write_off'])
  })

  test('is posted once its cause is gone, and every gateway then has the new balance', async () => {
    const { id, organizationId, restoreKey } = await rejectedCharge()
    const again = await decide(id, 'post')
    expect([again.status, again.body.code]).toEqual([409, 'charge_rejected_again'])
    expect(await auditOf(id)).toEqual(['charge.post_again_failed'])
    await restoreKey()
    const key = randomUUID()
    expect(await decide(id, 'post', { key })).toMatchObject({ status: 200, body: { state: 'posted' } })
    expect(await decide(id, 'post', { key })).toMatchObject({ status: 200, body: { state: 'posted' } })
    expect((await decide(id, 'post')).body.code).toBe('already_decided')
    expect((await decide(id, 'write-off')).body.code).toBe('already_decided')
    expect(await chargesOf(organizationId)).toEqual([-300n])
    expect(await readBalance(pool, organizationId)).toBe(700n)
    expect(await auditOf(id)).toEqual(['charge.post_again_failed', 'charge.post_again'])
    await vi.waitFor(async () => {
      const posted = await view.ask((redis) =>
        redis.hget(
          `mg:{s${String(shardOf(organizationId)).padStart(2, '0')}}:org:${organizationId}`,
          'posted',
        ),
      )
      expect(posted).toBe('700')
    }, waiting)
  })

  test('that twenty administrators decide at once is decided once', async () => {
    const { id, organizationId, restoreKey } = await rejectedCharge()
    await restoreKey()
    const all = await Promise.all(Array.from({ length: 20 }, () => signedInAdministrator(pool)))
    const answers = await Promise.all(
      all.map(({ cookie: as }, n) => decide(id, n % 2 === 0 ? 'post' : 'write-off', { as })),
    )
    const [won, ...others] = answers.toSorted((a, b) => a.status - b.status)
    expect(won?.status).toBe(200)
    expect(new Set(others.map(({ body }) => body.code))).toEqual(new Set(['already_decided']))
    expect(await chargesOf(organizationId)).toEqual(won?.body.state === 'posted' ? [-300n] : [])
    expect(await auditOf(id)).toHaveLength(1)
  })

  test('that cannot be read is not posted, and can be written off', async () => {
    const { id } = await rejectedCharge({ cost: 'free' })
    expect((await decide(id, 'post')).body.code).toBe('charge_unreadable')
    expect(await auditOf(id)).toEqual([])
    expect((await decide(id, 'write-off')).status).toBe(200)
  })

  test('of more than 5,000 ₽ in a day is written off once, when another administrator approves', async () => {
    const [{ cookie: as, ...asker }, other] = [
      await signedInAdministrator(pool),
      await signedInAdministrator(pool),
    ]
    const large = await rejectedCharge({ cost: '5000000000001' })
    const asked = await decide(large.id, 'write-off', { as })
    expect(asked).toMatchObject({
      status: 202,
      body: {
        kind: 'write_off',
        charge_id: large.id,
        amount_rub: '5000.000000001',
        because: 'amount',
        state: 'pending',
      },
    })
    expect((await auditOf(large.id)).length).toBe(0)
    const again = await decide(large.id, 'write-off', { as: other.cookie })
    expect([again.status, again.body.id]).toEqual([202, asked.body.id])
    const { body: open } = await get('/admin/rejected-charges?limit=200')
    const listed = open.data.find(({ id }: { readonly id: string }) => id === large.id)
    expect(listed.pending_approval_id).toBe(asked.body.id)
    const approve = (by: string) => post(`/admin/approvals/${asked.body.id}/approve`, { as: by })
    expect((await approve(as)).body.code).toBe('another_administrator_required')
    const approvals = await Promise.all([approve(other.cookie), approve(other.cookie)])
    expect(approvals.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const { body: all } = await get('/admin/rejected-charges?state=all&limit=200')
    expect(all.data.find(({ id }: { readonly id: string }) => id === large.id)).toMatchObject({
      state: 'written_off',
      decided_by: asker.administratorId,
    })
    expect(await auditOf(large.id)).toEqual(['charge.write_off'])
    expect(await chargesOf(large.organizationId)).toEqual([])
  })

  test('is posted by one administrator, whatever it costs, and then a write-off that waits cannot be approved', async () => {
    const [asker, other] = [await signedInAdministrator(pool), await signedInAdministrator(pool)]
    const { id, organizationId, restoreKey } = await rejectedCharge({ cost: '6000000000000' })
    const asked = await decide(id, 'write-off', { as: asker.cookie })
    expect(asked.status).toBe(202)
    await restoreKey()
    expect((await decide(id, 'post', { as: asker.cookie })).status).toBe(200)
    const late = await post(`/admin/approvals/${asked.body.id}/approve`, { as: other.cookie })
    expect([late.status, late.body.code]).toEqual([409, 'already_decided'])
    expect(await chargesOf(organizationId)).toEqual([-6_000_000_000_000n])
  })

  test('counts towards what one administrator may write off for an organization in a day', async () => {
    const { cookie: as } = await signedInAdministrator(pool)
    const first = await rejectedCharge({ cost: '3000000000000' })
    const second = await rejectedCharge({ cost: '3000000000000', organization: first.organizationId })
    expect((await decide(first.id, 'write-off', { as })).status).toBe(200)
    expect((await decide(second.id, 'write-off', { as })).status).toBe(202)
  })

  test('that was posted in the meantime is not charged twice', async () => {
    const { id, requestId, organizationId, restoreKey } = await rejectedCharge()
    await restoreKey()
    await pool.query(
      `select post_batch(jsonb_build_array(jsonb_build_object(
         'request_id', c.e ->> 'requestId', 'rank', 1, 'organization_id', c.e ->> 'organizationId', 'key_id', c.e ->> 'keyId',
         'day', 20000, 'cost', 300, 'record', c.e -> 'record')))
         from (select entry::jsonb as e from charges_rejected where id = $1) c`,
      [id],
    )
    expect((await decide(id, 'post')).status).toBe(200)
    expect(await chargesOf(organizationId)).toEqual([-300n])
    const { rows } = await pool.query('select from requests where id = $1', [requestId])
    expect(rows).toHaveLength(1)
  })

  test('is decided only with a recent code and a reason, and not for an organization of the administrator', async () => {
    const { id, organizationId } = await rejectedCharge()
    const late = await signedInAdministrator(pool, { mfaAt: new Date(Date.now() - 301_000) })
    const { userId } = await signedIn(pool, { organizationId })
    const member = await signedInAdministrator(pool, { email: `${userId}@EXAMPLE.com` })
    for (const how of ['post', 'write-off'] as const) {
      expect((await decide(id, how, { as: late.cookie })).body.code).toBe('mfa_step_up_required')
      expect((await decide(id, how, { as: member.cookie })).body.code).toBe('another_administrator_required')
      expect((await decide(id, how, { body: { reason: ' ' } })).body.code).toBe('validation_failed')
      for (const unknown of [randomUUID(), 'none']) expect((await decide(unknown, how)).status).toBe(404)
    }
    expect(await auditOf(id)).toEqual([])
  })

  test('cannot be changed after its decision, and only by the function', async () => {
    const { id } = await rejectedCharge()
    const role = poolAs('model_gateway_administration', stack.database)
    await expect(role.query("update charges_rejected set decision = 'posted'")).rejects.toThrow(
      'permission denied',
    )
    await decide(id, 'write-off')
    await expect(
      pool.query('update charges_rejected set decision = null where id = $1', [id]),
    ).rejects.toThrow()
  })
})

describe('money by day', () => {
  const day = (at: Date) => new Date(at.getTime() + 3 * 3_600_000).toISOString().slice(0, 10)
  const daysOf = async (query = '') => (await get(`/admin/operations/days${query}`)).body
  const sum = (rubles: readonly string[]) =>
    rubles.reduce((total, text) => total + Math.round(Number(text) * 1e9), 0)

  test('is every row of the ledger, at the Moscow day on which it happened', async () => {
    const { organizationId, keyId } = await createCustomer(pool)
    const [before, after] = [new Date('2026-11-20T20:59:59.999Z'), new Date('2026-11-20T21:00:00Z')]
    const days = async () => (await daysOf('?from=2026-11-20&to=2026-11-21')).data
    const earlier = await days()
    const give = (kind: Parameters<typeof credit>[1]['kind'], amount: bigint, at: Date) =>
      inTestScope(pool, (client) =>
        credit(client, { organizationId, kind, refId: randomUUID(), amount: nanoRub(amount), at }),
      )
    await give('top_up', 5_000_000_000n, before)
    await give('trial', 3_000_000_000n, before)
    await give('refund', -1_000_000_000n, after)
    await give('adjustment', -500_000_000n, after)
    await pool.query('select post_batch($1)', [
      JSON.stringify([
        {
          request_id: uuidV7(after.getTime()),
          rank: 1,
          organization_id: organizationId,
          key_id: keyId,
          day: 20_778,
          cost: 250_000_000,
          record: recordOf(),
        },
      ]),
    ])
    const later = await days()
    const change = (index: number, name: string) =>
      (Math.round(Number(later[index][name]) * 1e9) - Math.round(Number(earlier[index][name]) * 1e9)) / 1e9
    expect(later.map((one: { day: string }) => one.day)).toEqual([day(before), day(after)])
    expect(change(0, 'top_ups_rub')).toBe(5)
    expect(change(0, 'bonuses_rub')).toBe(3)
    expect(change(0, 'balances_rub')).toBe(8)
    expect(change(1, 'refunds_rub')).toBe(1)
    expect(change(1, 'adjustments_rub')).toBe(-0.5)
    expect(change(1, 'charges_rub')).toBe(0.25)
    expect(change(1, 'balances_rub')).toBe(6.25)
  })

  test('adds up: balances follow from the day before, and all days are all balances', async () => {
    await Promise.all(Array.from({ length: 5 }, () => createCustomer(pool, { balanceNano: 1n })))
    const { data, ledger_rub, accounts_rub } = await daysOf()
    expect(data).toHaveLength(31)
    expect(ledger_rub).toBe(accounts_rub)
    expect(data.at(-1).balances_rub).toBe(accounts_rub)
    const { rows } = await pool.query('select sum(amount)::text as total from balance_ledger')
    expect(sum([accounts_rub])).toBe(Number(rows[0].total))
    for (const [index, one] of data.entries()) {
      const earlier = data[index - 1]
      if (earlier === undefined) continue
      const moved =
        sum([one.top_ups_rub, one.bonuses_rub, one.adjustments_rub]) - sum([one.charges_rub, one.refunds_rub])
      expect(sum([one.balances_rub]) - sum([earlier.balances_rub])).toBe(moved)
    }
  })

  test('has at most 92 days, from the first to the last', async () => {
    for (const query of ['?from=2026-01-01&to=2026-04-03', '?from=2026-01-02&to=2026-01-01']) {
      const { status, body } = await get(`/admin/operations/days${query}`)
      expect([status, body.errors[0].path]).toEqual([422, 'to'])
    }
    expect((await daysOf('?from=2026-01-01&to=2026-04-02')).data).toHaveLength(92)
    for (const wrong of ['2026-02-30', '1999-01-01', 'today'])
      expect((await get(`/admin/operations/days?from=${wrong}`)).status).toBe(422)
  })
})

describe('the state', () => {
  test('has the last checks, the backlog, and each live gateway with version and revision', async () => {
    const gateway = await stack.startGateway()
    await vi.waitFor(async () => {
      const { body } = await get('/admin/operations/state')
      expect(body.gateways).toContainEqual(
        expect.objectContaining({
          version: expect.stringMatching(/^\d+\.\d+\.\d+/),
          revision: body.catalog_revision,
          unhealthy: [],
        }),
      )
      expect(body.backlog).toEqual({
        measured_at: expect.any(String),
        charges_unposted: 0,
        oldest_charge_seconds: 0,
        holds: 0,
        overdue_hold_seconds: 0,
        shards_unavailable: 0,
      })
      const age = Date.now() - Date.parse(body.invariants.looked_at)
      expect(age).toBeLessThan(60_000)
      expect(body.invariants.audited_at).not.toBeNull()
    }, waiting)
    await gateway.stop()
  })

  test('names a broken invariant', async () => {
    const { organizationId } = await createCustomer(pool)
    await pool.query('update org_account set balance = balance + 1 where organization_id = $1', [
      organizationId,
    ])
    await vi.waitFor(async () => {
      const { body } = await get('/admin/operations/state')
      expect(body.invariants.breaches).toContainEqual(
        expect.objectContaining({ invariant: 'balance_is_sum_of_ledger', count: 1 }),
      )
    }, waiting)
    await pool.query('update org_account set balance = balance - 1 where organization_id = $1', [
      organizationId,
    ])
  })

  test('has a backlog of when it was measured, so that an absent worker shows', async () => {
    await pool.query("update backlog set measured_at = now() - interval '1 hour'")
    const measured = async () => Date.parse((await get('/admin/operations/state')).body.backlog.measured_at)
    await vi.waitFor(async () => expect(Date.now() - (await measured())).toBeLessThan(10_000), waiting)
  })
})
