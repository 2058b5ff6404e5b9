import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { giveTrial } from '#cabinet/people/internal/trial'
import { readBalance } from '#core/ledger/balance'
import { checkInvariants } from '#core/ledger/invariants'
import { nanoRub } from '#core/ledger/money'
import { shardOf } from '#core/redis/shard'
import { trialJob } from '#worker/trial-job'
import {
  type Cabinet,
  cabinetOfThisFile,
  newEmail,
  registration,
  signUp,
  tokenTo,
} from '../support/cabinet.ts'
import { pepper } from '../support/customer.ts'
import { isSlowRun } from '../support/environment.ts'
import { databaseOfThisFile, poolAs, type TestDatabase } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { inTestScope } from '../support/scope.ts'
import { forEachAtOnce } from '../support/several-at-once.ts'

const cabinet = await cabinetOfThisFile()
const frugal = await cabinetOfThisFile({ TRIAL_DAILY_RUB: '65' })
const givingNobody = await cabinetOfThisFile({ TRIAL_GRANT: 'none' })
const givingPayers = await cabinetOfThisFile({ TRIAL_GRANT: 'first_top_up' })
const scripted = await databaseOfThisFile()

const trial = 30_000_000_000n
const rub = (amount: number) => nanoRub(BigInt(amount) * 1_000_000_000n)

/** A user confirms an address of this domain. */
async function balanceAt(of: Cabinet, domain: string): Promise<bigint> {
  const { organizationId } = await signUp(of, `${randomUUID()}@${domain}`)
  return readBalance(of.pool, organizationId)
}

async function metricsOf({ pool }: { readonly pool: TestDatabase['pool'] }, dailyMax = rub(3_000)) {
  const registry = new Registry()
  await runJob(trialJob(pool, registry, { dailyMax }))
  const metrics = await registry.getMetricsAsJSON()
  return Object.fromEntries(
    metrics.flatMap(({ name, values }) =>
      values.map(({ labels, value }) => [
        [name.replace('model_gateway_', ''), ...Object.values(labels)].join(' '),
        value,
      ]),
    ),
  )
}

describe.skipIf(isSlowRun)('a trial', () => {
  test('is granted three times a day to addresses of one domain; later accounts get none', async () => {
    const domain = newEmail().split('@')[1] ?? ''
    const people = await Promise.all(
      Array.from({ length: 24 }, async (_, n) => {
        const email = `${randomUUID()}@${n % 2 === 0 ? '' : `sub-${n}.`}${domain}`
        const visitor = cabinet.visitor()
        // Until there is room where passwords are hashed.
        for (let status = 0; status !== 202; )
          status = (await visitor.post('/auth/register', registration({ email }))).status
        return { visitor, email }
      }),
    )
    await Promise.all(
      people.map(async ({ visitor, email }) => {
        const token = await tokenTo(cabinet.pool, email)
        expect((await visitor.post('/auth/verify-email', { token })).status).toBe(204)
      }),
    )
    const balances = await Promise.all(
      people.map(async ({ visitor }) => (await visitor.get('/balance')).body.balance_rub),
    )
    expect(balances.filter((balance) => balance === '30')).toHaveLength(3)
    expect(balances.filter((balance) => balance === '0')).toHaveLength(21)
    expect(await balanceAt(cabinet, newEmail().split('@')[1] ?? '')).toBe(trial)
    for (let n = 0; n < 4; n++) expect(await balanceAt(cabinet, 'mail.ru')).toBe(trial)

    const { rows } = await cabinet.pool.query(
      `select after, count(*)::int as count from audit_log where action = 'organization.withhold_trial' group by after`,
    )
    expect(rows).toEqual([{ after: { why: 'domain' }, count: 21 }])
    expect(await metricsOf(cabinet)).toEqual({
      trial_credit_granted_rub: 8 * 30,
      trial_credit_daily_limit_rub: 3_000,
      'trials_withheld domain': 21,
      'trials_withheld daily_total': 0,
    })
    // The next day.
    await cabinet.pool.query('update trial_domains set day = day - 1')
    expect(await balanceAt(cabinet, domain)).toBe(trial)
    const found = await checkInvariants(cabinet.pool)
    expect(found.filter(({ breachCount }) => breachCount > 0)).toEqual([])
  }, 60_000)

  test('is withheld once a day has cost as much as it may', async () => {
    const balances = []
    for (let n = 0; n < 4; n++) balances.push(await balanceAt(frugal, newEmail().split('@')[1] ?? ''))
    expect(balances).toEqual([trial, trial, 0n, 0n])
    expect(await metricsOf(frugal, rub(65))).toMatchObject({
      trial_credit_granted_rub: 60,
      trial_credit_daily_limit_rub: 65,
      'trials_withheld daily_total': 2,
    })
    await frugal.pool.query('update trial_days set day = day - 1')
    expect(await balanceAt(frugal, newEmail().split('@')[1] ?? '')).toBe(trial)
  })

  test('is not given where TRIAL_GRANT=none', async () => {
    expect(await balanceAt(givingNobody, newEmail().split('@')[1] ?? '')).toBe(0n)
  })

  test('comes with the first top-up where TRIAL_GRANT=first_top_up, once, and not for an unpaid payment', async () => {
    const { pool } = givingPayers
    const worker = poolAs('model_gateway_worker', givingPayers.database)
    const { organizationId, userId } = await signUp(givingPayers)
    expect(await readBalance(pool, organizationId)).toBe(0n)
    const pay = async (isPaid: boolean) => {
      const [paymentId, providerId, amount] = [randomUUID(), randomUUID(), rub(100)]
      await pool.query(
        `insert into payments (id, organization_id, user_id, amount, provider_id, next_call_at)
         values ($1, $2, $3, $4, $5, null)`,
        [paymentId, organizationId, userId, amount, providerId],
      )
      return inTestScope(worker, async (client) => {
        if (isPaid)
          await client.withoutAudit(
            'part of the test',
            `insert into payment_evidence (payment_id, provider_id, status, paid, amount)
             values ($1, $2, 'succeeded', true, $3)`,
            [paymentId, providerId, amount],
          )
        if (isPaid)
          await client.withoutAudit(
            'part of the test',
            `update payments set status = 'succeeded', succeeded_at = now(),
                    evidence_id = (select id from payment_evidence where payment_id = $1)
              where id = $1`,
            [paymentId],
          )
        const { rows } = await client.query<{ answer: string | null }>(
          'select grant_promised_trial(gen_random_uuid(), $1) as answer',
          [paymentId],
        )
        if (isPaid) await client.withoutAudit('part of the test', 'select book_top_up($1)', [paymentId])
        return rows[0]?.answer
      })
    }
    expect([await pay(false), await pay(true), await pay(true)]).toEqual([null, 'granted', null])
    expect(await readBalance(pool, organizationId)).toBe(rub(230))
    const { rows } = await pool.query(
      "select count(*)::int as count from audit_log where action = 'organization.promise_trial'",
    )
    expect(rows).toEqual([{ count: 1 }])
  })
})

const scriptedCount = isSlowRun ? 10_000 : 1_000

test(`${scriptedCount} scripted registrations cost at most the daily total, from as many domains and many at once`, async () => {
  const { pool } = scripted
  const asCabinet = poolAs('model_gateway_cabinet', scripted)
  const organizations = Array.from({ length: scriptedCount }, () => randomUUID())
  await pool.query(
    `insert into organizations (id, name, shard) select id, 'org-' || id, shard from unnest($1::uuid[], $2::int[]) o (id, shard)`,
    [organizations, organizations.map(shardOf)],
  )
  const rules = { keyPepper: pepper, trials: { grant: 'email', dailyMax: rub(3_000) } } as const
  await forEachAtOnce([...organizations.entries()], 16, ([n, organizationId]) => {
    const email = n % 3 === 0 ? `p${n}@mail.ru` : `anna@p-${n}.example`
    return inTestScope(asCabinet, (client) => giveTrial(client, { organizationId, email }, rules))
  })
  const { rows } = await pool.query(
    'select count(*)::int as count, sum(amount)::bigint as sum from balance_ledger',
  )
  expect(rows).toEqual([{ count: 100, sum: rub(3_000) }])
  expect(await metricsOf({ pool })).toMatchObject({
    trial_credit_granted_rub: 3_000,
    'trials_withheld daily_total': scriptedCount - 100,
  })
}, 120_000)
