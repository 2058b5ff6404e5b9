import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { listCabinetRoutes } from '#core/catalog/cabinet-routes'
import { putPrice, putRoute } from '#core/catalog/catalog-store'
import { putResource } from '#core/clusters/cluster-resources'
import { readChangedKeyIds } from '#core/keys/changed-keys'
import { findKey, hashKey, type KeySecret } from '#core/keys/key'
import { listCabinetKeys, readKeyState, readKeyStates, type SecretState } from '#core/keys/key-state'
import {
  blockKey,
  finishDelivery,
  insertKey,
  mintUndelivered,
  revokeKey,
  rotateKey,
  setLimits,
  setManagedBy,
} from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { createOrganization } from '#core/organizations/organization-store'
import { storedRoute } from '../support/catalog.ts'
import { createCustomer, pepper } from '../support/customer.ts'
import { createDatabase, databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool } = await databaseOfThisFile()
const hourS = 3_600

async function makeKey(id?: string) {
  const { id: organizationId, name: organization } = await inTestScope(pool, (client) =>
    createOrganization(client, `org-${randomUUID()}`),
  )
  const key = { organizationId, name: 'ci', managedBy: 'kubernetes' } as const
  const keyId = await inTestScope(pool, (client) =>
    insertKey(client, id === undefined ? key : { ...key, id }),
  )
  return { keyId, organizationId, organization }
}

const mint = (keyId: string) => inTestScope(pool, (client) => mintUndelivered(client, keyId, pepper))
const finish = (keyId: string, text: KeySecret, graceS: number) =>
  inTestScope(pool, (client) => finishDelivery(client, keyId, hashKey(text, pepper), graceS))

async function deliver(keyId: string, graceS: number): Promise<KeySecret> {
  const text = await mint(keyId)
  expect(await finish(keyId, text, graceS)).toBe('finished')
  return text
}

/** The texts of a key by what they are, newest first. */
async function textsOf(keyId: string): Promise<Record<string, SecretState>> {
  const state = await readKeyState(pool, keyId)
  return Object.fromEntries((state?.secrets ?? []).map((secret) => [secret.hash, secret]))
}

const hash = (text: string) => hashKey(text as KeySecret, pepper)

describe('a text that is minted to be delivered', () => {
  test('is live at once, of its organization’s shard, and does not touch the delivered one', async () => {
    const { keyId } = await makeKey()
    const first = await deliver(keyId, hourS)
    const second = await mint(keyId)
    expect(findKey(second, pepper)).toBeDefined()
    const texts = await textsOf(keyId)
    expect(Object.keys(texts)).toEqual([hash(second), hash(first)])
    expect(texts[hash(first)]).toMatchObject({ state: 'live', delivered: true, validUntil: null })
    expect(texts[hash(second)]).toMatchObject({ state: 'live', delivered: false, validUntil: null })
  })

  test('ends earlier ones that were never seen', async () => {
    const { keyId } = await makeKey()
    const unseen = await mint(keyId)
    const next = await mint(keyId)
    const texts = await textsOf(keyId)
    expect(texts[hash(unseen)]).toMatchObject({ state: 'ended', delivered: false })
    expect(texts[hash(next)]).toMatchObject({ state: 'live' })
  })

  test('starts the grace of the text before it when it was delivered, once', async () => {
    const { keyId } = await makeKey()
    const first = await deliver(keyId, hourS)
    const second = await deliver(keyId, hourS)
    const graceOf = async () => (await textsOf(keyId))[hash(first)]?.validUntil?.getTime() ?? 0
    const endsAt = await graceOf()
    expect(Math.abs(endsAt - Date.now() - hourS * 1000)).toBeLessThan(10_000)
    await finish(keyId, second, 2 * hourS) // an operator that had died before it knew
    expect(await graceOf()).toBe(endsAt)
    expect(await textsOf(keyId)).toMatchObject({
      [hash(first)]: { state: 'live' },
      [hash(second)]: { state: 'live', validUntil: null, delivered: true },
    })
  })

  test('without a grace leaves nothing else alive', async () => {
    const { keyId } = await makeKey()
    const first = await deliver(keyId, hourS)
    await deliver(keyId, 0)
    expect((await textsOf(keyId))[hash(first)]).toMatchObject({ state: 'ended' })
  })

  test('that has ended cannot be delivered any more, and takes no other text with it', async () => {
    const { keyId } = await makeKey()
    const lost = await mint(keyId)
    const live = await deliver(keyId, 0)
    expect(await finish(keyId, lost, 0)).toBe('ended')
    expect((await textsOf(keyId))[hash(live)]).toMatchObject({ state: 'live', validUntil: null })
  })

  test('by ten at once is one live text', async () => {
    const { keyId } = await makeKey()
    await Promise.all(Array.from({ length: 10 }, () => mint(keyId)))
    const states = Object.values(await textsOf(keyId)).map(({ state }) => state)
    expect(states.filter((state) => state === 'live')).toHaveLength(1)
    expect(states[0]).toBe('live')
  })
})

test('texts handed to the caller are delivered', async () => {
  const { keyId } = await createCustomer(pool)
  await inTestScope(pool, (client) => rotateKey(client, keyId, hourS, pepper))
  for (const { delivered } of Object.values(await textsOf(keyId))) expect(delivered).toBe(true)
})

test('that a text was delivered is no change of the key: no version, no cursor', async () => {
  const { keyId } = await makeKey()
  const text = await mint(keyId)
  const version = async () => {
    const { rows } = await pool.query('select version from api_key_credentials where key_id = $1', [keyId])
    return rows[0]?.version
  }
  const before = await version()
  await finish(keyId, text, hourS)
  expect(await version()).toBe(before)
})

describe('the state of a key', () => {
  test('is everything about it, in one look', async () => {
    const { keyId, organizationId, organization } = await makeKey(randomUUID())
    const text = await deliver(keyId, 0)
    const limits = {
      rpm: 5,
      tpm: null,
      dailyBudgetNano: nanoRub(7n),
      weeklyBudgetNano: nanoRub(8n),
      monthlyBudgetNano: null,
      totalBudgetNano: nanoRub(9n),
      allowedModels: ['a/*'],
      allowedIps: ['10.0.0.0/8'],
      expiresAt: new Date('2027-06-01T00:00:00Z'),
      readBalance: true,
      keepsResponsesHours: 24,
    }
    await inTestScope(pool, (client) => setLimits(client, keyId, limits))
    await inTestScope(pool, (client) => blockKey(client, keyId, 'owner'))
    await inTestScope(pool, (client) => blockKey(client, keyId, 'kubernetes'))
    expect(await readKeyState(pool, keyId)).toEqual({
      keyId,
      organizationId,
      organization,
      name: 'ci',
      managedBy: 'kubernetes',
      purpose: 'general',
      tags: [],
      limits,
      blockedBy: ['owner', 'kubernetes'],
      revoked: false,
      revokedAt: null,
      version: 4n,
      isProjected: false,
      everProjected: false,
      createdAt: expect.any(Date),
      secrets: [
        {
          hash: hash(text),
          prefix: text.slice(0, 15),
          suffix: text.slice(-4),
          validUntil: null,
          state: 'live',
          delivered: true,
        },
      ],
    })
    await inTestScope(pool, (client) => revokeKey(client, keyId))
    expect(await readKeyState(pool, keyId)).toMatchObject({
      revoked: true,
      secrets: [{ state: 'ended' }],
    })
  })

  test('is projected when Redis has the newest version of the key and of each text', async () => {
    const { keyId } = await makeKey()
    await mint(keyId)
    const isProjected = async () => (await readKeyState(pool, keyId))?.isProjected
    const note = (table: string, id: string) =>
      pool.query(`update ${table} set projected_version = version where ${id} = $1`, [keyId])
    await note('api_keys', 'id')
    expect(await isProjected()).toBe(false)
    await note('api_key_credentials', 'key_id')
    expect(await isProjected()).toBe(true)
    await inTestScope(pool, (client) => blockKey(client, keyId, 'owner'))
    expect(await isProjected()).toBe(false)
  })

  test('of an unknown key, or of an invalid id, is none', async () => {
    expect(await readKeyStates(pool, [randomUUID(), 'my-key', ''])).toEqual([])
  })
})

test('unrevoked keys made in the cabinet are listed, oldest first, up to a limit', async () => {
  await using database = await createDatabase()
  const customers = [
    await createCustomer(database.pool),
    await createCustomer(database.pool),
    await createCustomer(database.pool),
  ]
  const [first, second, third] = customers.map(({ keyId }) => keyId)
  const listed = async (limit: number) =>
    (await listCabinetKeys(database.pool, { limit })).map(({ keyId }) => keyId)
  expect(await listed(10)).toEqual([first, second, third])
  expect(await listed(2)).toEqual([first, second])
  await inTestScope(database.pool, (client) => setManagedBy(client, first ?? '', 'kubernetes'))
  await inTestScope(database.pool, (client) => revokeKey(client, second ?? ''))
  expect(await listed(10)).toEqual([third])
})

test('keys that changed, themselves or one of their secrets, come once or more, and none is missed', async () => {
  await using database = await createDatabase()
  const [one, other] = [await createCustomer(database.pool), await createCustomer(database.pool)]
  const all = await readChangedKeyIds(database.pool, 0n)
  expect(new Set(all.keyIds)).toEqual(new Set([one.keyId, other.keyId]))
  await inTestScope(database.pool, (client) => blockKey(client, one.keyId, 'owner'))
  const blocked = await readChangedKeyIds(database.pool, all.nextXid)
  expect(blocked.keyIds).toContain(one.keyId)
  await inTestScope(database.pool, (client) => mintUndelivered(client, other.keyId, pepper))
  expect((await readChangedKeyIds(database.pool, blocked.nextXid)).keyIds).toContain(other.keyId)
})

test('routes that no object of a cluster owns are listed with their price in force and the names of organizations', async () => {
  await using database = await createDatabase()
  const db = database.pool
  const organizations = [
    await inTestScope(db, (client) => createOrganization(client, 'beta')),
    await inTestScope(db, (client) => createOrganization(client, 'alpha')),
  ]
  const free = storedRoute('a/free')
  const priced = storedRoute('a/priced', { organizations: organizations.map(({ id }) => id) })
  const price = {
    input: nanoRub(5n),
    cachedInput: null,
    cacheWrite: nanoRub(6n),
    output: nanoRub(999_999_999_999_999n),
    reasoning: null,
    perRequest: nanoRub(0n),
  }
  await inTestScope(db, (client) => putRoute(client, free, 'free'))
  await inTestScope(db, (client) => putPrice(client, 'a/priced', { ...price, input: nanoRub(1n) }))
  await inTestScope(db, (client) => putPrice(client, 'a/priced', price))
  await inTestScope(db, (client) => putRoute(client, priced, 'priced'))
  await inTestScope(db, (client) => putRoute(client, storedRoute('a/unpriced'), 'priced'))
  await inTestScope(db, (client) => putRoute(client, storedRoute('a/owned'), 'free'))
  await inTestScope(db, (client) =>
    putResource(client, {
      clusterId: 'one',
      kind: 'ModelRoute',
      namespace: 'models',
      name: 'owned',
      uid: 'u',
      generation: 1,
      subject: 'a/owned',
      revision: 1n,
      rotationTrigger: null,
      rotatedAt: null,
    }),
  )
  const listed = await listCabinetRoutes(db, { limit: 10 })
  expect(listed).toEqual([
    { route: free, price: 'free', organizations: null },
    { route: priced, price, organizations: ['beta', 'alpha'] },
    { route: storedRoute('a/unpriced'), price: 'none', organizations: null },
  ])
  expect(await listCabinetRoutes(db, { limit: 1 })).toHaveLength(1)
})
