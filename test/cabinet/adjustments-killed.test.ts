import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { checkInvariants } from '#core/ledger/invariants'
import { shardOf } from '#core/redis/shard'
import { createCustomer, recordOf, uuidV7 } from '../support/customer.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { startProcess, untilReady } from '../support/processes.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { openStepGate } from '../support/step-gate.ts'
import { administrationSettings, administrationUrl } from '../support/web-settings.ts'

// The administration process is killed (SIGKILL) after each statement of an adjustment, of a request, of an approval, and of a
// decision about a rejected charge.
// Money and its row of the audit log are both there, or neither; a repeated call leads to exactly one of each.
const [database, redis] = await Promise.all([databaseOfThisFile(), redisOfThisFile()])
const { pool } = database
const waiting = { timeout: 20_000, interval: 10 }

type Admin = Awaited<ReturnType<typeof signedInAdministrator>>
type Call = {
  readonly admin: Admin
  readonly path: string
  readonly body: object
  readonly organizationId: string
}

async function startAdministration(port: number) {
  const url = new URL(urlAs('model_gateway_administration', database.url))
  url.port = String(port)
  const process = await startProcess('cabinet/administration/main.ts', {
    ...administrationSettings,
    DATABASE_URL: url.href,
    REDIS_URL: redisUrlOf.cabinet(redis.url),
  })
  await untilReady(process)
  return process
}

/** Adjustments, requests and approvals of an organization, in Postgres; and how many of each the audit log has. */
async function effectsOf(organizationId: string) {
  const { rows } = await pool.query<Record<string, number>>(
    `select (select count(*)::int from balance_ledger where organization_id = $1) as credits,
            (select coalesce(sum(amount) / 1000000000, 0)::int from balance_ledger where organization_id = $1) as rubles,
            (select (balance / 1000000000)::int from org_account where organization_id = $1) as balance,
            (select count(*)::int from audit_log where organization_id = $1 and action = 'organization.credit') as "auditedCredits",
            (select count(*)::int from money_orders where organization_id = $1 and state = 'pending') as pending,
            (select count(*)::int from money_orders where organization_id = $1 and state <> 'done') as requests,
            (select count(*)::int from audit_log where organization_id = $1 and action = 'approval.request') as "auditedRequests",
            (select count(*)::int from money_orders where organization_id = $1 and state = 'approved') as approvals,
            (select count(*)::int from audit_log where organization_id = $1 and action = 'approval.approve') as "auditedApprovals",
            (select count(*)::int from requests where organization_id = $1) as charges,
            (select count(*)::int from charges_rejected where decision is not null and entry like '%' || $1 || '%') as decisions,
            (select count(*)::int from audit_log where organization_id = $1 and subject_kind = 'RejectedCharge') as "auditedDecisions"`,
    [organizationId],
  )
  const [effects] = rows
  if (effects === undefined) throw new Error('Postgres returned no effects')
  return effects
}

const reason = 'a mistake of ours'
const adjustmentOf = async (amount: string): Promise<Call> => {
  const admin = await signedInAdministrator(pool)
  const { organizationId } = await createCustomer(pool)
  const path = `/admin/organizations/${organizationId}/adjustments`
  return { admin, organizationId, path, body: { reason, amount_rub: amount } }
}

async function rejectedChargeOf(how: 'post' | 'write-off'): Promise<Call> {
  const admin = await signedInAdministrator(pool)
  const { organizationId, keyId } = await createCustomer(pool)
  const entry = {
    kind: 'charge',
    requestId: uuidV7(),
    chargeKind: 'settled',
    organizationId,
    keyId,
    day: 20_000,
    costNano: '2000000000',
    record: recordOf({ outcome: 'swept' }), // its cost is not that of its tokens
  }
  const { rows } = await pool.query<{ id: string }>(
    `insert into charges_rejected (shard, stream_id, entry, sqlstate, error) values ($1, $2, $3, '22023', 'lost') returning id`,
    [shardOf(organizationId), randomUUID(), JSON.stringify(entry)],
  )
  return { admin, organizationId, path: `/admin/rejected-charges/${rows[0]?.id}/${how}`, body: { reason } }
}

const flows = {
  'an adjustment': { status: 201, prepare: () => adjustmentOf('100'), expected: { credits: 1, rubles: 100 } },
  'a request': {
    status: 202,
    prepare: () => adjustmentOf('9000'),
    expected: { credits: 0, requests: 1, pending: 1 },
  },
  'an approval': {
    status: 200,
    async prepare(): Promise<Call> {
      const asker = await signedInAdministrator(pool)
      const { organizationId } = await createCustomer(pool)
      const id = randomUUID()
      await pool.query(
        `insert into money_orders (id, kind, organization_id, amount, reason, ordered_by, because, expires_at, state)
         values ($1, 'adjustment', $2, 9000000000000, $3, $4, 'amount', now() + interval '1 hour', 'pending')`,
        [id, organizationId, reason, asker.administratorId],
      )
      const admin = await signedInAdministrator(pool)
      return { admin, organizationId, path: `/admin/approvals/${id}/approve`, body: { reason } }
    },
    expected: { credits: 1, rubles: 9000, approvals: 1, pending: 0 },
  },
  'posting a rejected charge': {
    status: 200,
    prepare: () => rejectedChargeOf('post'),
    expected: { credits: 1, rubles: -2, charges: 1, decisions: 1, auditedDecisions: 1 },
  },
  'writing a rejected charge off': {
    status: 200,
    prepare: () => rejectedChargeOf('write-off'),
    expected: { credits: 0, charges: 0, decisions: 1, auditedDecisions: 1 },
  },
} as const

test.each(Object.entries(flows))(
  'wherever administration is killed during %s, money and audit log agree, and a repeated call makes it exactly one',
  { timeout: 300_000 },
  async (_, { status, prepare, expected }) => {
    await using gate = await openStepGate({ databaseUrl: database.url })
    let running = await startAdministration(gate.port)
    const send = async ({ admin, path, body }: Call, key: string) => {
      const response = await fetch(`${running.baseUrl.replace(/\/v1$/, '/api/v1')}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'idempotency-key': key,
          cookie: admin.cookie,
          origin: administrationUrl,
        },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: await response.json() }
    }
    const whole = await prepare()
    gate.count([whole.organizationId, whole.admin.administratorId, whole.path.split('/').at(-2) ?? ''])
    expect(await send(whole, randomUUID())).toMatchObject({ status })
    const steps = [...gate.taken]
    const [complete] = [await effectsOf(whole.organizationId)]
    expect(complete).toMatchObject(expected)
    // Its key, at least one change, its answer, the audit log, and the commit.
    expect(steps.length).toBeGreaterThanOrEqual(5)
    expect(steps.filter((step) => step.startsWith('insert into audit_log'))).toHaveLength(1)
    expect(steps.at(-1)).toBe('commit')

    for (const index of steps.keys()) {
      const call = await prepare()
      const key = randomUUID()
      const before = await effectsOf(call.organizationId)
      const ids = [call.organizationId, call.admin.administratorId, call.path.split('/').at(-2) ?? '']
      void gate.closeAfter(index + 1, ids)
      const sent = send(call, key).catch(() => undefined)
      await vi.waitFor(() => expect(gate.taken).toHaveLength(index + 1), waiting)
      await running.kill()
      gate.open()
      await sent
      await vi.waitFor(async () => {
        const { rowCount } = await pool.query(
          `select from pg_stat_activity where datname = current_database() and application_name like 'model-gateway-administration%'`,
        )
        expect(rowCount).toBe(0)
      }, waiting)
      const after = await effectsOf(call.organizationId)
      const place = `killed after step ${index + 1} of ${steps.length}: ${steps[index]}`
      expect([before, complete], place).toContainEqual(after)
      running = await startAdministration(gate.port)
      expect(await send(call, key), place).toMatchObject({ status })
      expect(await send(call, key), place).toMatchObject({ status })
      expect(await effectsOf(call.organizationId), place).toEqual(complete)
    }
    await running.kill()
    expect((await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0)).toEqual([])
  },
)
