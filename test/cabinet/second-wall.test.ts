import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { readBalanceRow, readBonuses } from '#cabinet/billing/internal/balance-row'
import { readLedger, readLedgerTotal } from '#cabinet/billing/internal/ledger-rows'
import { readKeysNearBudget, readOverview } from '#cabinet/billing/internal/overview-rows'
import { findSettledRequest } from '#cabinet/billing/internal/receipt-store'
import { readRequests } from '#cabinet/billing/internal/request-rows'
import { readSpan } from '#cabinet/billing/internal/span'
import { readSpending } from '#cabinet/billing/internal/spending-rows'
import { readUsage } from '#cabinet/billing/internal/usage-rows'
import { changeSettings, readDetails } from '#cabinet/organizations/internal/organization-details'
import { inReadScope, inScope, type ScopedClient } from '#core/audit/scope'
import { findKeyOwners } from '#core/clusters/cluster-resources'
import type { Queryable } from '#core/db/pool'
import { findKey } from '#core/keys/key'
import { countKeysOf, listKeysOf, readKeyNames, readKeyOf } from '#core/keys/key-state'
import * as keys from '#core/keys/key-store'
import { readBalance } from '#core/ledger/balance'
import { readSpentToday } from '#core/ledger/key-day'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { type Customer, createCustomer, entryOf, pepper } from '../support/customer.ts'
import { rowsOfOrganization } from '../support/organization-rows.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'

/**
 * Only row-level security: the statements of the stores are run without their condition on the organization. Each is run
 * for the platform, too, which must find what the organization does not: otherwise nothing would have been taken out.
 */
const database = await databaseOfThisFile()
const { pool } = database
const asCabinet = poolAs('model_gateway_cabinet', database)
const withoutWhere = poolAs('model_gateway_cabinet', database)

/** All that was sent without its condition, with what Postgres answered. */
let answered: { readonly sql: string; readonly rows: unknown }[] = []
takeConditionsOut(withoutWhere)

function takeConditionsOut(from: Pool): void {
  from.on('connect', (client: PoolClient) => {
    const query = client.query.bind(client) as Queryable['query']
    Object.assign(client, {
      query: async (text: string, values?: unknown[]) => {
        const sql = unconditional(text)
        const result = await query(sql, values)
        if (sql !== text) answered.push({ sql, rows: result.rows })
        return result
      },
    })
  })
}

/** A statement that no longer asks whose row it is. */
function unconditional(sql: string): string {
  return sql
    .replaceAll(/\b(?:[a-z]\.)?organization_id = \$\d/g, '(true or $&)')
    .replaceAll(/(?<=\bfrom organizations(?: o)?\s+where )(?:o\.)?id = \$1/g, '(true or $&)')
    .replaceAll(/(?<=\bupdate organizations set .*?\bwhere )id = \$1/gs, '(true or $&)')
}

type Filled = Customer & { readonly requestId: string }

let own: Filled
let other: Filled

beforeAll(async () => {
  ;[own, other] = [await filledCustomer(), await filledCustomer()]
})

/** A row in everything that is read below. */
async function filledCustomer(): Promise<Filled> {
  const customer = await createCustomer(pool, {
    balanceNano: 1_000_000_000n,
    dailyBudgetNano: nanoRub(7n),
  })
  const entry = entryOf(customer, 7n)
  await postBatch(pool, [entry])
  await pool.query('select grant_trial(gen_random_uuid(), $1, uuid_send($1))', [customer.organizationId])
  await pool.query(
    `insert into cluster_resources (cluster_id, kind, namespace, name, uid, generation, subject)
     values ('c', 'ApiKey', 'n', $2, $2, 1, $1)`,
    [customer.keyId, randomUUID()],
  )
  return { ...customer, requestId: entry.requestId }
}

const open = { from: null, to: null }
const always = { from: new Date('2020-01-01'), to: new Date('2100-01-01'), timeZone: 'Europe/Moscow' }
const page = { before: undefined, limit: 50 }

type Reading = (client: Queryable, organizationId: string) => Promise<unknown>
const readings: Readonly<Record<string, Reading>> = {
  listKeysOf: (client, id) => listKeysOf(client, id, { limit: 50, after: undefined }),
  readKeyOf: (client, id) => readKeyOf(client, id, other.keyId),
  countKeysOf,
  readKeyNames: (client, id) => readKeyNames(client, id, [own.keyId, other.keyId]),
  readOverview,
  readKeysNearBudget: (client, id) => readKeysNearBudget(client, id, 10),
  readSpending: (client, id) => readSpending(client, id, undefined, 5),
  'readSpending of a key of somebody else': (client, id) => readSpending(client, id, other.keyId, 5),
  readSpentToday: (client, id) => readSpentToday(client, id, [own.keyId, other.keyId]),
  findKeyOwners: (client, id) => findKeyOwners(client, id, [own.keyId, other.keyId]),
  readBalance,
  readBalanceRow,
  readBonuses,
  readLedger: (client, id) => readLedger(client, id, open, page),
  'readLedger of charges': (client, id) => readLedger(client, id, { ...open, kind: 'charge' }, page),
  'readLedger of credits': (client, id) => readLedger(client, id, { ...open, kind: 'adjustment' }, page),
  readLedgerTotal: (client, id) => readLedgerTotal(client, id, always),
  readRequests: (client, id) => readRequests(client, id, open, page),
  'readRequests with a filter': (client, id) =>
    readRequests(client, id, { ...open, outcome: 'completed' }, page),
  'readRequests of a key of somebody else': (client, id) =>
    readRequests(client, id, { ...open, keyId: other.keyId }, page),
  findSettledRequest: (client, id) => findSettledRequest(client, id, other.requestId),
  'readUsage by model': (client, id) =>
    readUsage(client, id, { ...always, bucket: 'hour', groupBy: 'model', hasDurations: true }, 'all'),
  'readUsage by key': (client, id) =>
    readUsage(client, id, { ...always, bucket: 'day', groupBy: 'key', hasDurations: true }, 'all'),
  readSpan: (client, id) => readSpan(client, id, {}),
  readDetails,
}

/** What the statements of a reading that had a condition answer without it. */
async function rowsWithoutWhere(scope: string | null, read: Reading): Promise<readonly unknown[]> {
  answered = []
  await inReadScope(withoutWhere, scope, (client) => read(client, own.organizationId))
  return answered.map(({ rows }) => rows)
}

/** What they answer with it. */
async function rowsWithWhere(read: Reading): Promise<readonly unknown[]> {
  const answers: unknown[] = []
  await inReadScope(asCabinet, own.organizationId, (client) => {
    const noting: Queryable = {
      async query(text, values) {
        const result = await client.query(text, values)
        if (unconditional(text) !== text) answers.push(result.rows)
        return result as never
      },
    }
    return read(noting, own.organizationId)
  })
  return answers
}

test.each(Object.entries(readings))(
  '%s without its where finds nothing of another organization',
  async (_, read) => {
    const honest = await rowsWithWhere(read)
    expect(honest.length).toBeGreaterThan(0)
    expect(await rowsWithoutWhere(null, read)).not.toEqual(honest)
    expect(await rowsWithoutWhere(own.organizationId, read)).toEqual(honest)
  },
)

const allLimits = { rpm: 7, tpm: 7, dailyBudgetNano: nanoRub(7n), allowedModels: ['a/b'], readBalance: true }

type Writing = (client: ScopedClient, of: Filled) => Promise<unknown>
const writings: Readonly<Record<string, Writing>> = {
  blockKey: async (client, { keyId }) => {
    await keys.unblockKey(client, keyId, 'owner')
    await keys.blockKey(client, keyId, 'owner')
  },
  unblockKey: (client, { keyId }) => keys.unblockKey(client, keyId, 'owner'),
  renameKey: (client, { keyId }) => keys.renameKey(client, keyId, randomUUID()),
  setLimits: (client, { keyId }) => keys.setLimits(client, keyId, allLimits),
  rotateKey: (client, { keyId }) => keys.rotateKey(client, keyId, 60, pepper),
  'rotateKey without grace': (client, { keyId }) => keys.rotateKey(client, keyId, 0, pepper),
  mintUndelivered: (client, { keyId }) => keys.mintUndelivered(client, keyId, pepper),
  restoreSecret: async (client, { keyId }) => {
    const found = findKey((await createCustomer(pool)).key, pepper)
    if (found === undefined) throw new Error('not a key')
    return keys.restoreSecret(client, keyId, mistyped(found.key), pepper)
  },
  revokeKey: (client, { keyId }) => keys.revokeKey(client, keyId),
  createKey: (client, { organizationId }) =>
    keys.createKey(client, { organizationId, name: 'slipped in', managedBy: 'cabinet' }, pepper),
  changeSettings: async (client, { organizationId }) => {
    const before = await readDetails(client, organizationId, { lock: true })
    const changed = { displayName: randomUUID(), lowBalanceThresholdNano: nanoRub(9n) }
    await changeSettings(client, before, { ...before, ...changed })
  },
}

/** Another value of the same form that does not exist. */
function mistyped<Secret extends string>(secret: Secret): Secret {
  return secret.replace(/.{8}$/, randomBytes(4).toString('hex')) as Secret
}

describe.each(Object.entries(writings))('%s', (_, write) => {
  async function changesOf(scope: string | null, of: Filled): Promise<boolean> {
    const before = await rowsOfOrganization(pool, of.organizationId)
    const actor = { kind: 'person', id: randomUUID() } as const
    // It may say that there is nothing, or that it must not.
    await inScope(withoutWhere, { actor, organizationId: scope }, (client) => write(client, of)).catch(
      (error) => error,
    )
    return JSON.stringify(await rowsOfOrganization(pool, of.organizationId)) !== JSON.stringify(before)
  }

  test('without its where changes nothing of another organization', async () => {
    const victim = await filledCustomer()
    await pool.query('update api_keys set owner_blocked_at = now() where id = $1', [victim.keyId])
    expect(await changesOf(own.organizationId, victim)).toBe(false)
    expect(await changesOf(victim.organizationId, victim)).toBe(true)
  })
})
