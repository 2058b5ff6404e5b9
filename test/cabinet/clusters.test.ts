import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type Fence, Superseded, takeEpoch } from '#core/audit/cluster-epoch'
import type { ScopedClient } from '#core/audit/scope'
import { listCabinetRoutes } from '#core/catalog/cabinet-routes'
import {
  putPrice,
  putProvider,
  readCatalogRevision,
  removeProvider,
  removeRoute,
} from '#core/catalog/catalog-store'
import {
  type ClusterResource,
  findOwner,
  findResource,
  listResources,
  putResource,
  removeResource,
} from '#core/clusters/cluster-resources'
import { observeNamespace } from '#core/clusters/namespace-observations'
import { readReplicas } from '#core/clusters/replicas'
import { createPool } from '#core/db/pool'
import { readChangedKeyIds } from '#core/keys/changed-keys'
import { hashKey } from '#core/keys/key'
import { listCabinetKeys, readKeyState } from '#core/keys/key-state'
import {
  blockKey,
  finishDelivery,
  insertKey,
  mintUndelivered,
  restoreSecret,
  revokeKey,
  setLimits,
  setManagedBy,
  unblockKey,
} from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { createOrganization } from '#core/organizations/organization-store'
import { pepper } from '../support/customer.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool, url } = await databaseOfThisFile()

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

const inFence = <Answer>(on: Pool, fence: Fence, work: (client: ScopedClient) => Promise<Answer>) =>
  inTestScope(on, work, { fence })
const put = (resource: ClusterResource) => inTestScope(pool, (client) => putResource(client, resource))

describe('a fenced transaction', () => {
  test('runs while its epoch is the newest of its cluster, and never again', async () => {
    const clusterId = randomUUID()
    const first = { clusterId, epoch: await takeEpoch(pool, clusterId, 'one') }
    const resource = routeIn(clusterId)
    await inFence(pool, first, (client) => putResource(client, resource))
    const second = { clusterId, epoch: await takeEpoch(pool, clusterId, 'two') }
    expect(second.epoch).toBe(first.epoch + 1n)
    await takeEpoch(pool, randomUUID(), 'of another cluster')
    const late = vi.fn()
    await expect(inFence(pool, first, late)).rejects.toThrow(Superseded)
    expect(late).not.toHaveBeenCalled()
    await inFence(pool, second, (client) => removeResource(client, resource))
    expect(await findResource(pool, resource)).toBeUndefined()
  })

  test('of a cluster without a leader is rejected', async () => {
    const never = inFence(pool, { clusterId: randomUUID(), epoch: 1n }, async () => undefined)
    await expect(never).rejects.toThrow(Superseded)
  })

  test('that is running holds a new epoch back until it is over, so nothing is written after that was taken', async () => {
    const clusterId = randomUUID()
    const first = { clusterId, epoch: await takeEpoch(pool, clusterId, 'one') }
    const resource = routeIn(clusterId)
    const mayEnd = Promise.withResolvers<void>()
    const running = inFence(pool, first, async (client) => {
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
    const frozen = inFence(pool, first, async (client) => {
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
    await inTestScope(pool, (client) => removeResource(client, resource))
    expect(await findResource(pool, resource)).toBeUndefined()
  })

  test('is of one object of all clusters: another one hears who the owner is, and follows when that has gone', async () => {
    const owner = routeIn(randomUUID())
    const rival = routeIn(randomUUID(), { subject: owner.subject })
    expect(await put(owner)).toBe('put')
    expect(await put(rival)).toEqual({ conflict: owner })
    expect(await findResource(pool, rival)).toBeUndefined()
    expect(await put({ ...rival, kind: 'ModelProvider' })).toBe('put') // another kind's names are its own
    await inTestScope(pool, (client) => removeResource(client, owner))
    expect(await put(rival)).toBe('put')
  })

  test('of ten objects that want one subject at the same moment one gets it, and the others hear which', async () => {
    const { subject } = routeIn('')
    const rivals = Array.from({ length: 10 }, () => routeIn(randomUUID(), { subject }))
    let waiting = 0
    const all = Promise.withResolvers<void>()
    const answers = await Promise.all(
      rivals.map((rival) =>
        inTestScope(pool, async (client) => {
          if (++waiting === rivals.length) all.resolve()
          await all.promise
          return putResource(client, rival)
        }),
      ),
    )
    expect(answers.filter((answer) => answer === 'put')).toHaveLength(1)
    const owner = await findOwner(pool, 'ModelRoute', subject)
    for (const answer of answers) if (answer !== 'put') expect(answer.conflict).toEqual(owner)
  })
})

describe('the role of an operator', () => {
  const asOperator = createPool({
    databaseUrl: urlAs('model_gateway_operator', url),
    applicationName: 'test',
  })
  afterAll(() => asOperator.end())

  test('is enough for all its work', async () => {
    const { id: organizationId } = await inTestScope(pool, (client) =>
      createOrganization(client, `org-${randomUUID()}`),
    )
    const clusterId = randomUUID()
    const fence = { clusterId, epoch: await takeEpoch(asOperator, clusterId, 'one') }
    const keyId = await inFence(asOperator, fence, async (client) => {
      const id = randomUUID()
      await observeNamespace(client, fence, 'team', organizationId)
      await putResource(client, routeIn(clusterId, { kind: 'ApiKey', subject: id }))
      await insertKey(client, { id, organizationId, name: 'ci', managedBy: 'kubernetes' })
      const text = await mintUndelivered(client, id, pepper)
      await finishDelivery(client, id, hashKey(text, pepper), 60)
      await setLimits(client, id, { rpm: 7 })
      await blockKey(client, id, 'kubernetes')
      await unblockKey(client, id, 'kubernetes')
      await setManagedBy(client, id, 'cabinet')
      expect(await restoreSecret(client, id, text, pepper)).toBe('restored')
      return id
    })
    const resource = routeIn(clusterId)
    await inFence(asOperator, fence, async (client) => {
      await revokeKey(client, keyId)
      await putProvider(client, {
        name: keyId,
        api: 'OpenAI',
        baseUrl: 'https://a',
        auth: { type: 'None' },
        headers: [],
      })
      await putResource(client, { ...resource, revision: await readCatalogRevision(client) })
      await putPrice(client, resource.subject, price)
      await removeRoute(client, resource.subject)
      await removeProvider(client, keyId)
      await removeResource(client, resource)
    })
    expect(await readKeyState(asOperator, keyId)).toMatchObject({ revoked: true, managedBy: 'cabinet' })
    await readChangedKeyIds(asOperator, 0n)
    await listCabinetKeys(asOperator, { limit: 1 })
    await listCabinetRoutes(asOperator, { limit: 1 })
    await listResources(asOperator, clusterId, 'ApiKey')
    await readReplicas(asOperator)
    await asOperator.query('listen model_gateway_programmed')
  })
})

const price = {
  input: nanoRub(1n),
  cachedInput: null,
  cacheWrite: null,
  output: nanoRub(0n),
  reasoning: null,
  perRequest: nanoRub(0n),
}
