import { expect, onTestFinished, test, vi } from 'vitest'
import { directChargesOfThisFile } from '../support/direct-charges.ts'
import { makePayer } from '../support/payer.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const { clock, createDirectCustomer } = await directChargesOfThisFile(stack)
const { pool } = stack.database

async function startWorker(env: Readonly<Record<string, string>> = {}): Promise<Process> {
  const worker = await stack.startWorker({ INVARIANTS_EVERY_MS: '100', ...env })
  onTestFinished(() => worker.kill())
  return worker
}

function until(work: () => Promise<void>, timeout = 35_000): Promise<void> {
  return vi.waitFor(work, { timeout, interval: 50 })
}

async function untilMetrics(worker: Process, wanted: Readonly<Record<string, number>>): Promise<void> {
  const names = Object.keys(wanted)
  await until(async () => {
    const values = await Promise.all(names.map((name) => readMetric(worker, name)))
    expect(Object.fromEntries(names.map((name, n) => [name, values[n]]))).toEqual(wanted)
  })
}

async function showsFindings(worker: Process): Promise<boolean> {
  const text = await (await fetch(`${worker.adminUrl}/metrics`)).text()
  return text.includes('model_gateway_invariant_breaches{')
}

test('the worker shows how many charges wait for Postgres, how many requests hold money, and since when', async () => {
  const worker = await startWorker()
  const customer = await createDirectCustomer()
  const account = await pool.connect()
  await account.query('begin')
  await account.query('select from org_account where organization_id = $1 for update', [
    customer.organizationId,
  ])
  clock.offsetMs = 3_600_000 // its leases end in an hour
  onTestFinished(() => {
    clock.offsetMs = 0
  })
  const [hold] = await Promise.all([customer.admit(), customer.admit(), customer.admit()])
  await customer.settle(hold, 5)
  await untilMetrics(worker, { charges_unposted: 1, holds: 2, holds_overdue_seconds: 0 })
  expect(await readMetric(worker, 'charges_unposted_age_seconds')).toBeGreaterThan(0)
  await account.query('rollback')
  account.release()
  await untilMetrics(worker, { charges_unposted: 0, charges_unposted_age_seconds: 0, holds: 2 })
})

test('the worker shows how many shards it has not opened', async () => {
  const worker = await startWorker({ RENEW_EVERY_MS: '7000', LEASE_MS: '28000' }) // shut for 8 s, looked at each 2 s
  await untilMetrics(worker, { shards_unavailable: 0 })
  await stack.redis.kill()
  await stack.redis.start()
  await until(async () => expect(await readMetric(worker, 'shards_unavailable')).toBe(64))
  await until(async () => expect(await readMetric(worker, 'shards_unavailable')).toBe(0))
})

test('a broken money invariant is in the metrics after the next audit, and gone when it is corrected', async () => {
  const worker = await startWorker()
  const customer = await createDirectCustomer()
  const breaches = 'invariant_breaches{invariant="balance_is_sum_of_ledger"}'
  await until(async () =>
    expect(await readMetric(worker, 'job_last_success_timestamp_seconds{job="invariants"}')).toBeGreaterThan(
      0,
    ),
  )
  await untilMetrics(worker, { [breaches]: 0, rejected_charges: 0 })
  const forge = (by: number) =>
    pool.query('update org_account set balance = balance + $2 where organization_id = $1', [
      customer.organizationId,
      by,
    ])
  await forge(1)
  await pool.query(`select reject_charge(1::smallint, '1-1', '{}', null, 'unreadable')`)
  await untilMetrics(worker, { [breaches]: 1, rejected_charges: 1 })
  await forge(-1)
  await untilMetrics(worker, { [breaches]: 0 })
  await until(async () => expect(await readMetric(worker, 'invariants_audit_age_seconds')).toBeGreaterThan(0))
  expect(await readMetric(worker, 'invariants_audit_age_seconds')).toBeLessThan(60)
})

test('one worker looks at a time, and shows no old findings while another one does', async () => {
  const worker = await startWorker()
  const shown = () => showsFindings(worker)
  await until(async () => expect(await shown()).toBe(true))
  const other = await pool.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock($1)', [0x6d67_0002])
  await until(async () => expect(await shown()).toBe(false))
  await other.query('rollback')
  other.release()
  await until(async () => expect(await shown()).toBe(true))
})

test('a look that cannot be made is a failed job and no reason to be unready, and leaves no old findings', async () => {
  const worker = await startWorker()
  await until(async () => expect(await showsFindings(worker)).toBe(true))
  await pool.query('alter table charges_rejected rename to charges_elsewhere')
  onTestFinished(
    async () => void (await pool.query('alter table charges_elsewhere rename to charges_rejected')),
  )
  await until(async () =>
    expect(await readMetric(worker, 'job_errors_total{job="invariants"}')).toBeGreaterThan(0),
  )
  expect((await fetch(`${worker.adminUrl}/readyz`)).status).toBe(200)
  expect(await showsFindings(worker)).toBe(false)
})

test('each job shows how often it runs, which its age is compared with', async () => {
  const worker = await startWorker({ INVARIANTS_EVERY_MS: '90000' })
  const text = await (await fetch(`${worker.adminUrl}/metrics`)).text()
  const periods = text.matchAll(/^model_gateway_job_period_seconds\{job="(\w+)"\} (\S+)$/gm)
  expect(Object.fromEntries([...periods].map(([, job, seconds]) => [job, Number(seconds)]))).toEqual({
    archive_backlog: 15,
    audit_chain: 1,
    audit_chain_check: 60,
    settlement: 0.05,
    projection: 0.5,
    catalogue: 0.5,
    replicas: 0.1,
    hand_over: 0.1,
    redis_cluster: 5,
    sweep: 0.2,
    maintenance: 3600,
    upkeep: 3600, // deprecated, as the other old names of jobs
    pepper: 60,
    low_balance: 30,
    model_hours: 60,
    alerts: 30,
    alert_webhooks: 2,
    alert_webhooks_removal: 3600,
    totp_resets: 10,
    expiry: 600,
    trials: 30,
    emails: 2,
    letters: 2,
    emails_removal: 3600,
    letters_removal: 3600,
    payment_backlog: 5,
    webhook_removal: 3600,
    backlog: 2,
    invariants: 90,
    invariants_audit: 60,
    invariants_backlog: 5,
  })
})

test('the worker shows how long Postgres and Redis take, and how many connections it has', async () => {
  const worker = await startWorker()
  await until(async () => {
    expect(await readMetric(worker, 'postgres_query_duration_seconds_count{pool="main"}')).toBeGreaterThan(0)
    expect(await readMetric(worker, 'redis_script_duration_seconds_count{script="sweep"}')).toBeGreaterThan(0)
    expect(await readMetric(worker, 'postgres_connections{pool="main",state="idle"}')).toBeGreaterThan(0)
  })
  expect(await readMetric(worker, 'postgres_connection_waiters{pool="main"}')).toBe(0)
  const text = await (await fetch(`${worker.adminUrl}/metrics`)).text()
  expect(text).toMatch(/^model_gateway_build_info\{version="\d+\.\d+\.\d+",node="v24\.\d+\.\d+"\} 1$/m)
})

test('the worker shows the status of payments of the last day, and since when a notification waits', async () => {
  const worker = await startWorker()
  await untilMetrics(worker, { 'payments{status="pending"}': 0, webhooks_waiting_age_seconds: 0 })
  const payer = await makePayer(pool)
  await pool.query(
    `insert into payments (id, organization_id, user_id, amount, address_hash, call_body, created_at)
     select gen_random_uuid(), $1, $2, 1, '\\x00', '{}', clock_timestamp() - days * interval '1 day' from generate_series(0, 2) days`,
    [payer.organizationId, payer.userId],
  )
  await pool.query(
    `insert into webhook_inbox (provider, event, object_id, body, received_at)
     values ('yookassa', 'payment.succeeded', 'any', '{}', clock_timestamp() - interval '10 minutes')`,
  )
  await untilMetrics(worker, { 'payments{status="pending"}': 1, 'payments{status="refunded"}': 0 })
  await until(async () =>
    expect(await readMetric(worker, 'webhooks_waiting_age_seconds')).toBeGreaterThan(600),
  )
})
