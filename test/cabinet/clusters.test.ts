import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { inFencedTransaction, Superseded, takeEpoch } from '#cabinet/cluster-epoch'
import {
  type ClusterResource,
  findOwner,
  findResource,
  listResources,
  putResource,
  removeResource,
} from '#cabinet/cluster-resources'
import { inTransaction } from '#cabinet/transaction'
import { databaseOfThisFile } from '../support/postgres.ts'

const { pool } = await databaseOfThisFile()

function routeIn(clusterId: string, fields: Partial<ClusterResource> = {}): ClusterResource {
  return {
    clusterId,
    kind: 'ModelRoute',
    namespace: 'models',
    name: `r-${randomUUID()}`,
    uid: randomUUID(),
    generation: 1,
    subject: `a/${randomUUID()}`,
    revision: null,
    rotationTrigger: null,
    rotatedAt: null,
    ...fields,
  }
}

const put = (resource: ClusterResource) => inTransaction(pool, (client) => putResource(client, resource))

describe('a fenced transaction', () => {
  test('runs while its epoch is the newest of its cluster, and never again', async () => {
    const clusterId = randomUUID()
    const first = { clusterId, epoch: await takeEpoch(pool, clusterId, 'one') }
    const resource = routeIn(clusterId)
    await inFencedTransaction(pool, first, (client) => putResource(client, resource))
    const second = { clusterId, epoch: await takeEpoch(pool, clusterId, 'two') }
    expect(second.epoch).toBe(first.epoch + 1n)
    await takeEpoch(pool, randomUUID(), 'of another cluster')
    const late = vi.fn()
    await expect(inFencedTransaction(pool, first, late)).rejects.toThrow(Superseded)
    expect(late).not.toHaveBeenCalled()
    await inFencedTransaction(pool, second, (client) => removeResource(client, resource))
    expect(await findResource(pool, resource)).toBeUndefined()
  })

  test('of a cluster that nobody leads is refused', async () => {
    const never = inFencedTransaction(pool, { clusterId: randomUUID(), epoch: 1n }, async () => undefined)
    await expect(never).rejects.toThrow(Superseded)
  })

  test('that is running holds a new epoch back until it is over, so nothing is written after that was taken', async () => {
    const clusterId = randomUUID()
    const first = { clusterId, epoch: await takeEpoch(pool, clusterId, 'one') }
    const resource = routeIn(clusterId)
    const mayEnd = Promise.withResolvers<void>()
    const running = inFencedTransaction(pool, first, async (client) => {
      await putResource(client, resource)
      await mayEnd.promise
    })
    await waitForWriters(1)
    const taken = takeEpoch(pool, clusterId, 'two').then(() => findResource(pool, resource))
    await waitForLock()
    mayEnd.resolve()
    await running
    expect(await taken).toEqual(resource)
  })

  test('that is frozen is ended by Postgres, and its epoch with it', async () => {
    const clusterId = randomUUID()
    const first = { clusterId, epoch: await takeEpoch(pool, clusterId, 'one') }
    const resource = routeIn(clusterId)
    const thaw = Promise.withResolvers<void>()
    const frozen = inFencedTransaction(pool, first, async (client) => {
      await client.query("set local idle_in_transaction_session_timeout = '300ms'") // 5 s in production
      await putResource(client, resource)
      await thaw.promise
      await client.query('select')
    })
    const ended = expect(frozen).rejects.toThrow()
    await waitForWriters(1)
    await takeEpoch(pool, clusterId, 'two')
    thaw.resolve()
    await ended
    expect(await findResource(pool, resource)).toBeUndefined()
  })

  async function waitForWriters(count: number): Promise<void> {
    await vi.waitFor(async () => {
      const { rows } = await pool.query<{ state: string }>(
        "select state from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
      )
      expect(rows).toHaveLength(count)
    })
  }

  async function waitForLock(): Promise<void> {
    await vi.waitFor(async () => {
      const { rowCount } = await pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      )
      expect(rowCount).toBe(1)
    })
  }
})

describe('what is noted of an object', () => {
  test('is read back as it was written, and rewritten only when it changed', async () => {
    const resource = routeIn(randomUUID(), {
      kind: 'ApiKey',
      generation: 7,
      revision: 42n,
      rotationTrigger: '2026-11-21',
      rotatedAt: new Date('2026-11-21T10:00:00.123Z'),
    })
    const xmin = async () => {
      const { rows } = await pool.query('select xmin::text from cluster_resources where subject = $1', [
        resource.subject,
      ])
      return rows[0]?.xmin
    }
    await put(resource)
    const before = await xmin()
    expect(await put(resource)).toBe('put')
    expect(await xmin()).toBe(before)
    expect(await findResource(pool, resource)).toEqual(resource)
    const later = { ...resource, generation: 8, subject: randomUUID() }
    await put(later)
    expect(await listResources(pool, resource.clusterId, 'ApiKey')).toEqual([later])
    expect(await findOwner(pool, 'ApiKey', resource.subject)).toBeUndefined()
    await removeResource(pool, resource)
    expect(await findResource(pool, resource)).toBeUndefined()
  })

  test('is of one object of all clusters: another one hears who the owner is, and follows when that has gone', async () => {
    const owner = routeIn(randomUUID())
    const rival = routeIn(randomUUID(), { subject: owner.subject })
    expect(await put(owner)).toBe('put')
    expect(await put(rival)).toEqual({ conflict: owner })
    expect(await findResource(pool, rival)).toBeUndefined()
    expect(await put({ ...rival, kind: 'ModelProvider' })).toBe('put') // another kind's names are its own
    await removeResource(pool, owner)
    expect(await put(rival)).toBe('put')
  })

  test('of ten objects that want one subject at the same moment one gets it, and the others hear which', async () => {
    const { subject } = routeIn('')
    const rivals = Array.from({ length: 10 }, () => routeIn(randomUUID(), { subject }))
    const answers = await Promise.all(rivals.map(put))
    expect(answers.filter((answer) => answer === 'put')).toHaveLength(1)
    const owner = await findOwner(pool, 'ModelRoute', subject)
    for (const answer of answers) if (answer !== 'put') expect(answer.conflict).toEqual(owner)
  })
})

test('what an operator may not touch stays shut to its role', async () => {
  const asOperator = (sql: string) =>
    inTransaction(pool, async (client: PoolClient) => {
      await client.query('set local role model_gateway_operator')
      await client.query(sql)
    })
  const refused = [
    'select from org_account',
    'select from balance_ledger',
    'select from requests',
    'update api_keys set owner_blocked_at = null',
    'update api_keys set admin_blocked_at = null',
    'update api_keys set organization_id = gen_random_uuid()',
    'update api_keys set projected_version = 9',
    'update api_key_credentials set hash = null',
    'update api_key_credentials set projected_version = 9',
    'update model_prices set input = 0',
    'update organizations set name = null',
    'insert into organizations (id, name, shard) values (gen_random_uuid(), null, 0)',
    'delete from api_keys',
    'delete from gateway_replicas',
    'delete from cluster_epochs',
    "select post_credit(gen_random_uuid(), 'trial', gen_random_uuid(), 1, now())",
    'select post_batch(null)',
  ]
  for (const sql of refused) await expect(asOperator(sql), sql).rejects.toMatchObject({ code: '42501' })
  await asOperator('update api_keys set kubernetes_blocked_at = now() where false')
})
