import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Hint, listenForHints } from '#core/db/change-hints'
import { readKeyState } from '#core/keys/key-state'
import { blockKey, insertKey, mintUndelivered, rotateKey } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { createOrganization } from '#core/organizations/organization-store'
import { allShards, epochName, shardName, shardOf, shardPrefix } from '#core/redis/shard'
import { createCustomer, pepper } from '../support/customer.ts'
import { urlAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const { pool, url } = stack.database
let worker: Process

/** With no more rights than it has in an installation. */
const startWorker = (env: Readonly<Record<string, string>> = {}) =>
  stack.startWorker({ DATABASE_URL: urlAs('model_gateway_worker', url), ...env })

beforeAll(async () => {
  worker = await startWorker()
})

const until = (work: () => Promise<void> | void) => vi.waitFor(work, { timeout: 5_000, interval: 5 })

async function isProjected(keyId: string): Promise<boolean> {
  return (await readKeyState(pool, keyId))?.isProjected ?? false
}

const untilProjected = (keyId: string) => until(async () => expect(await isProjected(keyId)).toBe(true))

async function versionsOf(keyId: string): Promise<unknown> {
  const { rows } = await pool.query(
    `select k.version, k.changed_xid, array_agg((c.version, c.changed_xid)::text order by c.id) as texts
       from api_keys k join api_key_credentials c on c.key_id = k.id where k.id = $1 group by k.id`,
    [keyId],
  )
  return rows[0]
}

/** What Redis has of a key. */
function inRedis({ organizationId, keyId }: { organizationId: string; keyId: string }) {
  return view.ask((redis) => redis.hgetall(`${shardPrefix(shardOf(organizationId))}key:${keyId}`))
}

/** As an operator does that changes its texts. */
async function holdKey(client: PoolClient, keyId: string): Promise<void> {
  await client.query('select from api_keys where id = $1 for update', [keyId])
}

/** A transaction that is open until its test is over. */
async function openTransaction(): Promise<PoolClient> {
  const client = await pool.connect()
  onTestFinished(async () =>
    client.release(
      await client.query('rollback').then(
        () => false,
        () => true,
      ),
    ),
  )
  await client.query('begin')
  return client
}

/** Everything heard from now on. */
async function hear(listenTo: readonly ('changed' | 'programmed')[]): Promise<Hint[]> {
  const heard: Hint[] = []
  const hints = listenForHints({
    databaseUrl: url,
    applicationName: 'test-hints',
    listenTo,
    onHint: (hint) => heard.push(hint),
  })
  onTestFinished(() => hints.stop())
  await until(() => expect(heard).toEqual([{ kind: 'everything' }]))
  return heard
}

test('a change is in Redis at once though some transaction is open for long', async () => {
  const customer = await createCustomer(pool)
  await untilProjected(customer.keyId)
  const long = await openTransaction()
  await long.query('select pg_current_xact_id()') // from here on no cursor passes it
  for (const by of ['owner', 'admin'] as const) {
    await inTestScope(pool, (client) => blockKey(client, customer.keyId, by))
    await until(async () =>
      expect(await inRedis(customer)).toMatchObject({ state: 'blocked', blocked_by: by }),
    )
    await untilProjected(customer.keyId)
  }
})

test('a caller that waits for a key learns that Redis has it, and the notification changes nothing else', async () => {
  const heard = await hear(['programmed'])
  const { id: organizationId } = await inTestScope(pool, (client) =>
    createOrganization(client, `org-${randomUUID()}`),
  )
  const keyId = await inTestScope(pool, async (client) => {
    const made = await insertKey(client, { organizationId, name: 'ci', managedBy: 'kubernetes' })
    await mintUndelivered(client, made, pepper)
    return made
  })
  await until(async () => expect(await isProjected(keyId)).toBe(true))
  expect(await inRedis({ organizationId, keyId })).toMatchObject({ state: 'active', version: '1' })
  await until(() => expect(heard).toContainEqual({ kind: 'programmed', what: 'keys' }))
  const before = await versionsOf(keyId)
  const changes = await hear(['changed'])
  await inTestScope(pool, (client) => rotateKey(client, keyId, 60, pepper))
  const rotated = await versionsOf(keyId)
  await untilProjected(keyId)
  expect(rotated).not.toEqual(before)
  expect(await versionsOf(keyId)).toEqual(rotated)
  expect(changes.filter(({ kind }) => kind === 'changed')).toEqual([{ kind: 'changed', what: 'keys' }])
})

test('a worker that starts on a restored dump stamps changes that seem to come from the future', async () => {
  const { keyId } = await createCustomer(pool)
  const other = await createCustomer(pool)
  const client = await pool.connect()
  await client.query('set session_replication_role = replica') // no trigger fires
  await client.query("update api_keys set changed_xid = '5000000000000'::xid8 where id = any($1)", [
    [keyId, other.keyId],
  ])
  client.release(true)
  const second = await startWorker()
  onTestFinished(() => second.stop())
  await until(async () => {
    const { rowCount } = await pool.query(
      'select from api_keys where changed_xid >= pg_snapshot_xmax(pg_current_snapshot())',
    )
    expect(rowCount).toBe(0)
  })
  expect(await versionsOf(keyId)).toMatchObject({ version: 1n })
})

test('what a worker had copied when it was killed is noted by the next one', async () => {
  const customer = await createCustomer(pool)
  await untilProjected(customer.keyId)
  const other = await openTransaction()
  worker.freeze()
  await inTestScope(pool, (client) => blockKey(client, customer.keyId, 'owner'))
  await holdKey(other, customer.keyId) // nothing is recorded in this time
  worker.thaw()
  await until(async () => expect(await inRedis(customer)).toMatchObject({ blocked_by: 'owner' }))
  await worker.kill()
  await other.query('commit')
  expect(await isProjected(customer.keyId)).toBe(false)
  worker = await startWorker()
  await untilProjected(customer.keyId)
})

test('a key locked for long delays no other key', async () => {
  const [held, other] = [await createCustomer(pool), await createCustomer(pool)]
  await untilProjected(held.keyId)
  const holder = await openTransaction()
  worker.freeze()
  await inTestScope(pool, (client) => blockKey(client, held.keyId, 'owner'))
  await holdKey(holder, held.keyId)
  await inTestScope(pool, (client) => blockKey(client, other.keyId, 'owner'))
  worker.thaw()
  await untilProjected(other.keyId)
  expect(await isProjected(held.keyId)).toBe(false)
  await holder.query('commit')
  await untilProjected(held.keyId)
})

test('a shard that lags behind the others misses no credit', async () => {
  const { organizationId } = await createCustomer(pool, { balanceNano: 1n })
  const posted = () => view.money(organizationId).then((money) => money.posted)
  await until(async () => expect(await posted()).toBe(1n))
  worker.freeze()
  onTestFinished(() => worker.thaw())
  await inTestScope(pool, (client) =>
    credit(client, { organizationId, kind: 'top_up', refId: randomUUID(), amount: nanoRub(1n) }),
  )
  const { rows } = await pool.query<{ xid: bigint }>('select pg_current_xact_id() as xid')
  const others = allShards.filter((shard) => shard !== shardOf(organizationId))
  for (const shard of others)
    await view.ask((redis) => redis.hset(shardName(shard), 'cursor', String(rows[0]?.xid)))
  worker.thaw()
  await until(async () => expect(await posted()).toBe(2n))
})

test('after a lost connection, a listener learns that anything may have changed, and continues', async () => {
  const heard = await hear(['changed', 'programmed'])
  await pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test-hints'",
  )
  await until(() => expect(heard).toEqual([{ kind: 'everything' }, { kind: 'everything' }]))
  await createCustomer(pool)
  await until(() => {
    expect(heard).toContainEqual({ kind: 'changed', what: 'keys' })
    expect(heard).toContainEqual({ kind: 'programmed', what: 'keys' })
  })
})

test('new default limits reach existing keys, and only keys without their own limits', async () => {
  const [plain, own] = [await createCustomer(pool), await createCustomer(pool, { rpm: 3 })]
  await untilProjected(own.keyId)
  await until(async () => expect(await inRedis(plain)).toMatchObject({ rpm: '600', tpm: '2000000' }))
  await worker.kill()
  worker = await startWorker({ DEFAULT_RPM: '5', DEFAULT_TPM: '1000' })
  await until(async () => {
    expect(await inRedis(plain)).toMatchObject({ rpm: '5', tpm: '1000', version: '1' })
    expect(await inRedis(own)).toMatchObject({ rpm: '3', tpm: '1000', version: '1' })
  })
})

test('a shard whose epoch is days ahead of the clock is loaded and opened again', async () => {
  const customer = await createCustomer(pool)
  await untilProjected(customer.keyId)
  const epoch = epochName(shardOf(customer.organizationId))
  const nonceOfBefore = await view.epochNonce(customer.organizationId)
  const aheadMs = Date.now() + 2 * 86_400_000
  await view.ask((redis) => redis.hset(epoch, 'opens_at', aheadMs))
  await until(async () => expect(await view.epochNonce(customer.organizationId)).not.toBe(nonceOfBefore))
  const opensAtMs = Number(await view.ask((redis) => redis.hget(epoch, 'opens_at')))
  expect(opensAtMs).toBeLessThan(Date.now() + 60_000)
})

test('a key is in Redis, and known to be, within a tenth of a second of its commit (median of 30)', async () => {
  const customer = await createCustomer(pool)
  await untilProjected(customer.keyId)
  const heard = await hear(['programmed'])
  const times: number[] = []
  for (let round = 0; round < 30; round++) {
    heard.length = 0
    const startMs = performance.now()
    await inTestScope(pool, (client) => rotateKey(client, customer.keyId, 0, pepper))
    await vi.waitFor(() => expect(heard).toContainEqual({ kind: 'programmed', what: 'keys' }), {
      interval: 1,
    })
    await vi.waitFor(async () => expect(await isProjected(customer.keyId)).toBe(true), { interval: 1 })
    times.push(performance.now() - startMs)
  }
  const sorted = times.toSorted((a, b) => a - b)
  expect(sorted[15]).toBeLessThan(100)
})
