import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { uuidV7 } from '../support/customer.ts'
import { type DirectCustomer, directChargesOfThisFile } from '../support/direct-charges.ts'
import { urlAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

const stack = await stackOfThisFile({ appendonly: 'yes' })
const view = viewOfThisFile(stack.redis)
const { createDirectCustomer } = await directChargesOfThisFile(stack)
const { pool } = stack.database

/** The one that holds every shard; each test leaves such a one behind. */
let settler: Process

beforeAll(async () => {
  settler = await stack.startWorker()
})

/** Charges that a worker posts together: while they are made, it is stopped. */
async function chargeAtOnce(customer: DirectCustomer, count: number): Promise<ReadonlyMap<string, bigint>> {
  settler.freeze()
  const costs = await chargeMany(customer, count)
  settler.thaw()
  return costs
}

/** Makes `count` charges of 1, 2, 3 … tokens; answers their costs by request id. */
async function chargeMany(customer: DirectCustomer, count: number): Promise<ReadonlyMap<string, bigint>> {
  const charges = Array.from({ length: count }, async (_, n) => {
    const requestId = uuidV7()
    return [requestId, await customer.settle(await customer.admit(requestId), n + 1)] as const
  })
  return new Map(await Promise.all(charges))
}

/** Keeps others from posting for an organization; answers how to let them. */
async function lockAccount(organizationId: string): Promise<() => Promise<void>> {
  const client = await pool.connect()
  await client.query('begin')
  await client.query('select from org_account where organization_id = $1 for update', [organizationId])
  let isLocked = true
  const unlock = async () => {
    if (!isLocked) return
    isLocked = false
    await client.query('rollback')
    client.release()
  }
  onTestFinished(unlock)
  return unlock
}

/** Delays the commit of a worker that posts for an organization. Returns a function that releases it. */
async function blockCommits(organizationId: string): Promise<() => Promise<void>> {
  const client = await pool.connect()
  await client.query(`
    create function wait_for_the_test() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(7); return null; end $$;
    create constraint trigger wait_for_the_test after insert on requests deferrable initially deferred for each row
      when (new.organization_id = '${organizationId}') execute function wait_for_the_test()`)
  await client.query('select pg_advisory_lock(7)')
  return async () => {
    await client.query('select pg_advisory_unlock(7)')
    client.release()
  }
}

/** Resolves once a worker has begun to post and waits for a locked account. */
function untilBooking(): Promise<void> {
  return untilWaiting('%from post_batch%')
}

/** Resolves once a statement like this one waits for a lock, and will for half a second yet. */
async function untilWaiting(statement: string): Promise<void> {
  const sql = `select from pg_stat_activity
                where datname = current_database() and query like '${statement}' and wait_event_type = 'Lock'
                  and clock_timestamp() - query_start < interval '500 ms'`
  await vi.waitFor(async () => expect((await pool.query(sql)).rowCount).toBe(1), {
    timeout: 5_000,
    interval: 10,
  })
}

async function expectEachOnce(customer: DirectCustomer, costs: ReadonlyMap<string, bigint>): Promise<void> {
  const books = await settledBooks(stack, view, customer.organizationId, { requests: costs.size })
  for (const [id, costNano] of costs) expect(books.get(id)).toMatchObject({ costNano, chargeRows: 1 })
}

test('a worker dies between the commit and the update of Redis: another one finishes, each charge counts once', async () => {
  const customer = await createDirectCustomer()
  const unlock = await lockAccount(customer.organizationId)
  const costs = await chargeAtOnce(customer, 3)
  await untilBooking()
  await stack.redis.kill()
  await unlock()
  await vi.waitFor(async () => expect((await stack.readBooks(customer.organizationId)).costs.size).toBe(3), {
    timeout: 5_000,
  })
  await settler.kill()
  await stack.redis.start()
  await vi.waitFor(async () => expect(await view.waitingCount(customer.organizationId)).toBe(3), {
    timeout: 5_000,
  })
  settler = await stack.startWorker()
  await expectEachOnce(customer, costs)
})

test('a worker that has nothing to ask for shows Postgres that it lives, and keeps its shards', async () => {
  const shownAt = async () => {
    const { rows } = await pool.query(
      `select max(state_change) as at from pg_stat_activity
        where datname = current_database() and application_name = 'model-gateway-worker-locks'`,
    )
    return rows[0].at
  }
  const before = await shownAt()
  await vi.waitFor(async () => expect(await shownAt()).not.toEqual(before), { timeout: 2_000 })
})

test('a worker killed while it posts: the next one takes its shards over within 2 s, each charge counts once', async () => {
  const customer = await createDirectCustomer()
  const heir = await stack.startWorker()
  const unlock = await lockAccount(customer.organizationId)
  const costs = await chargeAtOnce(customer, 3)
  await untilBooking()
  await settler.kill()
  const killedAtMs = performance.now()
  await unlock()
  settler = heir
  await expectEachOnce(customer, costs)
  expect(performance.now() - killedAtMs).toBeLessThan(2_000)
})

test('a commit whose acknowledgement was lost is not posted again', async () => {
  const gate = await gateOfThisTest(Number(new URL(stack.database.url).port))
  const behindGate = new URL(stack.database.url)
  behindGate.port = String(gate.port)
  await settler.kill()
  settler = await stack.startWorker({ DATABASE_URL: urlAs('model_gateway_worker', behindGate.href) })
  const customer = await createDirectCustomer()
  const letCommit = await blockCommits(customer.organizationId)
  const costs = await chargeAtOnce(customer, 3)
  await untilWaiting('commit')
  gate.holdAnswers()
  await letCommit()
  await vi.waitFor(async () => expect((await stack.readBooks(customer.organizationId)).costs.size).toBe(3))
  expect(await view.waitingCount(customer.organizationId)).toBe(3)
  gate.cut()
  await expectEachOnce(customer, costs)
  await settler.kill()
  settler = await stack.startWorker()
})

test('a worker that freezes while it posts keeps neither its shards nor the account: both are free within 8 s', async () => {
  const customer = await createDirectCustomer()
  const heir = await stack.startWorker()
  const unlock = await lockAccount(customer.organizationId)
  const costs = await chargeAtOnce(customer, 3)
  await untilBooking()
  settler.freeze()
  const frozen = settler
  onTestFinished(() => frozen.kill())
  const frozenAtMs = performance.now()
  await unlock()
  await expectEachOnce(customer, costs)
  expect(performance.now() - frozenAtMs).toBeLessThan(8_000)

  settler = heir
  const succeededAt = () => readMetric(frozen, 'job_last_success_timestamp_seconds{job="settlement"}')
  frozen.thaw()
  const wokeAtS = Date.now() / 1000
  await vi.waitFor(async () => expect(await succeededAt()).toBeGreaterThan(wokeAtS), { timeout: 10_000 })
  await expectEachOnce(customer, costs)
})

test('the only worker that cannot reach Redis leaves its shards to the others within 8 s', async () => {
  const gate = await gateOfThisTest(Number(new URL(stack.redis.url).port))
  const behindGate = new URL(stack.redis.url)
  behindGate.port = String(gate.port)
  await settler.kill()
  const cutOff = await stack.startWorker({ REDIS_URL: redisUrlOf.worker(behindGate.href) })
  onTestFinished(() => cutOff.kill())
  const [before, after] = [await createDirectCustomer(), await createDirectCustomer()]
  await expectEachOnce(before, await chargeMany(before, 1)) // it has the shards
  settler = await stack.startWorker()
  gate.shut()
  const shutAtMs = performance.now()
  await expectEachOnce(after, await chargeMany(after, 2))
  expect(performance.now() - shutAtMs).toBeLessThan(8_000)
})

test('two workers settle at the same time, and each charge is posted by one of them', async () => {
  const other = await stack.startWorker()
  const customer = await createDirectCustomer()
  const posted = async () =>
    (await readMetric(settler, 'charges_posted_total')) + (await readMetric(other, 'charges_posted_total'))
  const before = await posted()
  const costs = await chargeMany(customer, 80)
  await expectEachOnce(customer, costs)
  expect((await posted()) - before).toBe(80)
})

test('an idle worker asks with one command for the charges of all shards', async () => {
  const callsOf = async (command: string) => {
    const stats = await view.ask((client) => client.info('commandstats'))
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  }
  const customer = await createDirectCustomer()
  await expectEachOnce(customer, await chargeMany(customer, 1))
  const before = { xread: await callsOf('xread'), xrange: await callsOf('xrange') }
  const passes = await vi.waitFor(
    async () => {
      const asked = (await callsOf('xread')) - before.xread
      expect(asked).toBeGreaterThan(20)
      return asked
    },
    { timeout: 20_000 },
  )
  // The age of the oldest charge is now and then asked of each shard, for the metrics.
  expect((await callsOf('xrange')) - before.xrange).toBeLessThan(10 * passes)
})
