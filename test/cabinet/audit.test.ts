import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { Superseded, takeEpoch } from '#core/audit/cluster-epoch'
import { inScope, ScopeBreach, type ScopedClient } from '#core/audit/scope'
import type { ProviderDocument } from '#core/catalog/catalog-document'
import { putPrice, putProvider, putRoute, removeProvider, removeRoute } from '#core/catalog/catalog-store'
import { sealCredential } from '#core/catalog/credential-seal'
import { createPool } from '#core/db/pool'
import { hashKey, type KeySecret, writeKey } from '#core/keys/key'
import {
  blockKey,
  createKey,
  finishDelivery,
  mintUndelivered,
  renameKey,
  restoreSecret,
  revokeKey,
  rotateKey,
  setLimits,
  setManagedBy,
  setTags,
  unblockKey,
} from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { readOrMakeOrganization } from '#core/organizations/funded-organization'
import { createOrganization } from '#core/organizations/organization-store'
import { shardOf } from '#core/redis/shard'
import { writeFenced } from '#operator/runtime/fenced-database'
import { storedRoute } from '../support/catalog.ts'
import { createCustomer, pepper } from '../support/customer.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool, url } = await databaseOfThisFile()
const asOperator = createPool({ databaseUrl: urlAs('model_gateway_operator', url), applicationName: 'test' })
afterAll(() => asOperator.end())

const nothing = Promise.resolve(undefined)

/** Each encryption differs: the same provider again has the same one. */
const sealedOnce = new Map<string, string>()

type Row = {
  readonly id: bigint
  readonly actor_kind: string
  readonly actor_id: string
  readonly action: string
  readonly subject_id: string
  readonly organization_id: string | null
  readonly before: unknown
  readonly after: unknown
  readonly reason: string | null
  readonly request_id: string | null
}

async function rowsSince(id: bigint): Promise<readonly Row[]> {
  const { rows } = await pool.query<Row>('select * from audit_log where id > $1 order by id', [id])
  return rows
}

async function lastId(): Promise<bigint> {
  const { rows } = await pool.query<{ last: bigint }>('select coalesce(max(id), 0) as last from audit_log')
  return rows[0]?.last ?? 0n
}

/** Data for trying a command: a customer, unused names and an unused secret. */
type Fixture = {
  readonly organizationId: string
  readonly keyId: string
  readonly fresh: string
  readonly lost: KeySecret
}

type Command<Prepared = unknown> = {
  /** The rows that it leaves. */
  readonly leaves: readonly string[]
  /** Audit rows of a repeated call; by default none. */
  readonly again?: readonly string[]
  prepare?(client: ScopedClient, fixture: Fixture): Promise<Prepared>
  run(client: ScopedClient, fixture: Fixture, prepared: Prepared): Promise<unknown>
}

const price = {
  input: nanoRub(5n),
  cachedInput: null,
  cacheWrite: null,
  output: nanoRub(9n),
  reasoning: null,
  perRequest: nanoRub(0n),
}

const commands: Readonly<Record<string, Command>> = {
  createOrganization: {
    leaves: ['organization.create'],
    run: (client, { fresh }) => createOrganization(client, fresh),
  },
  readOrMakeOrganization: {
    leaves: ['organization.create', 'organization.credit'],
    run: (client, { fresh }) => readOrMakeOrganization(client, fresh, nanoRub(5n)),
  },
  credit: {
    leaves: ['organization.credit'],
    run: (client, { organizationId, keyId }) =>
      credit(client, { organizationId, kind: 'top_up', refId: keyId, amount: nanoRub(7n) }),
  },
  createKey: {
    leaves: ['key.create', 'key.add_secret'],
    again: ['key.create', 'key.add_secret'],
    run: (client, { organizationId }) =>
      createKey(client, { organizationId, name: 'other', managedBy: 'cabinet', rpm: 5 }, pepper),
  },
  rotateKey: {
    leaves: ['key.end_secrets', 'key.rotate'],
    again: ['key.end_secrets', 'key.rotate'],
    run: (client, { keyId }) => rotateKey(client, keyId, 60, pepper),
  },
  mintUndelivered: {
    leaves: ['key.add_secret'],
    again: ['key.add_secret'],
    run: (client, { keyId }) => mintUndelivered(client, keyId, pepper),
  },
  finishDelivery: {
    leaves: ['key.deliver_secret', 'key.end_secrets'],
    prepare: (client, { keyId }) => mintUndelivered(client, keyId, pepper),
    run: (client, { keyId }, minted) =>
      finishDelivery(client, keyId, hashKey(minted as KeySecret, pepper), 60),
  },
  restoreSecret: {
    leaves: ['key.restore_secret'],
    run: (client, { keyId, lost }) => restoreSecret(client, keyId, lost, pepper),
  },
  setLimits: {
    leaves: ['key.set_limits'],
    run: (client, { keyId }) =>
      setLimits(client, keyId, { rpm: 3, dailyBudgetNano: nanoRub(8n), expiresAt: new Date(1e12) }),
  },
  blockKey: { leaves: ['key.block'], run: (client, { keyId }) => blockKey(client, keyId, 'admin') },
  unblockKey: {
    leaves: ['key.unblock'],
    prepare: (client, { keyId }) => blockKey(client, keyId, 'owner'),
    run: (client, { keyId }) => unblockKey(client, keyId, 'owner'),
  },
  revokeKey: { leaves: ['key.revoke'], run: (client, { keyId }) => revokeKey(client, keyId) },
  renameKey: { leaves: ['key.rename'], run: (client, { keyId, fresh }) => renameKey(client, keyId, fresh) },
  setTags: { leaves: ['key.set_tags'], run: (client, { keyId }) => setTags(client, keyId, ['b', 'a']) },
  setManagedBy: {
    leaves: ['key.set_manager'],
    run: (client, { keyId }) => setManagedBy(client, keyId, 'kubernetes'),
  },
  putProvider: {
    leaves: ['provider.put'],
    run: (client, { fresh }) => putProvider(client, providerOf(fresh)),
  },
  removeProvider: {
    leaves: ['provider.remove'],
    prepare: (client, { fresh }) => putProvider(client, providerOf(fresh)),
    run: (client, { fresh }) => removeProvider(client, fresh),
  },
  putRoute: {
    leaves: ['route.put'],
    run: (client, { fresh }) => putRoute(client, storedRoute(`a/${fresh}`, { attempts: 2 }), 'free'),
  },
  removeRoute: {
    leaves: ['route.remove'],
    prepare: (client, { fresh }) => putRoute(client, storedRoute(`a/${fresh}`, { attempts: 2 }), 'free'),
    run: (client, { fresh }) => removeRoute(client, `a/${fresh}`),
  },
  putPrice: {
    leaves: ['price.put'],
    run: (client, { fresh }) => putPrice(client, `a/${fresh}`, price),
  },
}

function providerOf(name: string, credential = 'sk-of-the-provider'): ProviderDocument {
  const baseUrl = 'https://user-of-it:password-of-it@llm.example/v1?token=token-of-it'
  const boundTo = { provider: name, baseUrl, header: 'x', caCertificates: undefined }
  const sealed = sealedOnce.get(credential) ?? sealCredential(credential, boundTo, [Buffer.alloc(32, 7)])
  sealedOnce.set(credential, sealed)
  return {
    name,
    api: 'OpenAI',
    baseUrl,
    auth: { type: 'Header', header: 'x', sealed },
    headers: [{ name: 'x-team', value: 'value-of-the-header' }],
  }
}

async function makeFixture(): Promise<Fixture> {
  const { organizationId, keyId } = await createCustomer(pool)
  return {
    organizationId,
    keyId,
    fresh: `fresh-${randomUUID()}`,
    lost: writeKey(shardOf(organizationId), randomBytes(32), pepper),
  }
}

const actionsOf = (rows: readonly Row[]) => rows.map(({ action }) => action)

test.each(Object.entries(commands))(
  '%s leaves its rows with who, whose and why, and the same again leaves none',
  async (_name, command) => {
    const fixture = await makeFixture()
    const prepared = await inTestScope(pool, (client) => command.prepare?.(client, fixture) ?? nothing)
    const before = await lastId()
    const scope = {
      actor: { kind: 'administrator', id: 'root@example.com' },
      organizationId: null,
      reason: 'asked by phone',
      call: { requestId: fixture.fresh, sessionId: undefined, address: '127.0.0.1' },
    } as const
    const run = () => inScope(pool, scope, (client) => command.run(client, fixture, prepared))
    await run()
    const rows = await rowsSince(before)
    expect(actionsOf(rows)).toEqual(command.leaves)
    for (const row of rows) {
      expect(row).toMatchObject({
        actor_kind: 'administrator',
        actor_id: 'root@example.com',
        reason: 'asked by phone',
        request_id: fixture.fresh,
      })
      expect(row.before ?? row.after).not.toBeNull()
      const isOfPlatform = /^(provider|route|price)[.]/.test(row.action)
      const isNews = row.action === 'organization.create' || row.subject_id === row.organization_id
      if (isOfPlatform) expect(row.organization_id).toBeNull()
      else expect(row.organization_id).toBe(isNews ? row.subject_id : fixture.organizationId)
    }
    const between = await lastId()
    await run()
    expect(actionsOf(await rowsSince(between))).toEqual(command.again ?? [])
  },
)

describe('a change and its rows', () => {
  /** Everything that commands may change. */
  const tables = [
    'organizations',
    'org_account',
    'balance_ledger',
    'api_keys',
    'api_key_credentials',
    'model_providers',
    'model_routes',
    'model_prices',
  ]

  async function fingerprint(): Promise<string> {
    const texts = tables.map(
      (table) => `(select md5(string_agg(t::text, ' ' order by t::text)) from ${table} t)`,
    )
    const { rows } = await pool.query<{ all: string }>(`select concat_ws(' ', ${texts.join(', ')}) as all`)
    return rows[0]?.all ?? ''
  }

  /** A pool whose connection Postgres ends after so many statements, as if its process had died there. */
  function poolThatDiesAfter(statementCount: number): Pool {
    const dying = async () => {
      const client = await pool.connect()
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      let left = statementCount
      const query = async (text: string, values?: unknown[]) => {
        const answer = await client.query(text, values)
        if (--left === 0) await pool.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid])
        return answer
      }
      return Object.assign(Object.create(client) as PoolClient, {
        query,
        release: () => client.release(left <= 0),
      })
    }
    return Object.assign(Object.create(pool) as Pool, { connect: dying })
  }

  test.each(Object.entries(commands))(
    'of %s are both there or neither, whichever statement was the last',
    async (_name, command) => {
      let wasCommitted = false
      for (let count = 1; !wasCommitted; count++) {
        expect(count).toBeLessThan(20)
        const fixture = await makeFixture()
        const prepared = await inTestScope(pool, (client) => command.prepare?.(client, fixture) ?? nothing)
        const [before, id] = [await fingerprint(), await lastId()]
        wasCommitted = await inTestScope(poolThatDiesAfter(count), (client) =>
          command.run(client, fixture, prepared),
        ).then(
          () => true,
          () => false,
        )
        const isChanged = (await fingerprint()) !== before
        expect({ count, isChanged }).toEqual({ count, isChanged: wasCommitted })
        expect(actionsOf(await rowsSince(id))).toEqual(wasCommitted ? command.leaves : [])
      }
    },
  )
})

const insertOf = (column: string) => `insert into audit_log (${column}) values (null)`

describe('the audit log', () => {
  test('cannot be changed, shortened or emptied, not even by its owner', async () => {
    await createCustomer(pool)
    for (const sql of ["update audit_log set action = 'a.b'", 'delete from audit_log', 'truncate audit_log'])
      await expect(pool.query(sql), sql).rejects.toMatchObject({ code: '23001' })
  })

  test.each([
    ['model_gateway_operator', ['select from audit_log']],
    ['model_gateway_cabinet', []],
    ['model_gateway_worker', [insertOf('action')]],
  ])('is appended at most by %s, which says neither when nor in which order', async (role, also) => {
    const ofRole = createPool({ databaseUrl: urlAs(role, url), applicationName: 'test' })
    const refused = [
      "update audit_log set action = 'a.b'",
      'delete from audit_log',
      'truncate audit_log',
      insertOf('at'),
      'insert into audit_log (id) overriding system value values (1)',
    ]
    try {
      for (const sql of [...refused, ...also])
        await expect(ofRole.query(sql), sql).rejects.toMatchObject({ code: '42501' })
    } finally {
      await ofRole.end()
    }
  })

  test('has no secret in it, and no hash of one', async () => {
    const { organizationId, keyId, lost, fresh } = await makeFixture()
    const secrets = await inTestScope(pool, async (client) => {
      const { secret } = await createKey(client, { organizationId, name: 'k', managedBy: 'cabinet' }, pepper)
      const minted = await mintUndelivered(client, keyId, pepper)
      await finishDelivery(client, keyId, hashKey(minted, pepper), 0)
      await restoreSecret(client, keyId, lost, pepper)
      const { secret: rotated } = await rotateKey(client, keyId, 0, pepper)
      await putProvider(client, providerOf(fresh))
      await putProvider(client, providerOf(fresh, 'another'))
      await removeProvider(client, fresh)
      return [secret, minted, lost, rotated]
    })
    const { rows } = await pool.query<{ text: string }>('select audit_log::text as text from audit_log')
    const log = rows.map(({ text }) => text).join('\n')
    for (const secret of secrets) {
      expect(log).toContain(`${secret.slice(0, 15)}…${secret.slice(-4)}`)
      expect(log).not.toContain(secret)
      expect(log).not.toContain(secret.slice(15, -4))
      expect(log).not.toContain(hashKey(secret, pepper))
    }
    for (const part of [...sealedOnce.values(), 'value-of-the-header', 'password-of-it', 'token-of-it'])
      expect(log).not.toContain(part)
    const of = rows.filter(({ text }) => text.includes(fresh))
    expect(of.map(({ text }) => text.includes('changed'))).toEqual([false, true, false])
  })

  test('has the change itself: what was before and what is after', async () => {
    const { keyId, fresh } = await makeFixture()
    const id = await lastId()
    await inTestScope(pool, async (client) => {
      await setLimits(client, keyId, { rpm: 3 })
      await setLimits(client, keyId, { rpm: 4, dailyBudgetNano: nanoRub(10n ** 17n) })
      await putRoute(client, storedRoute(`a/${fresh}`, { attempts: 2 }), 'free')
      await putRoute(client, storedRoute(`a/${fresh}`, { attempts: 3 }), 'priced')
    })
    expect(await rowsSince(id)).toMatchObject([
      { before: { rpm: null }, after: { rpm: 3 } },
      { before: { rpm: 3, dailyBudgetNano: null }, after: { rpm: 4, dailyBudgetNano: '100000000000000000' } },
      { before: null, after: { free: true, document: { attempts: 2 } } },
      {
        before: { free: true, document: { attempts: 2 } },
        after: { free: false, document: { attempts: 3 } },
      },
    ])
  })

  test('takes the rows of a thousand routes in two statements', async () => {
    const { fresh } = await makeFixture()
    const appends: string[] = []
    const counting = Object.assign(Object.create(pool) as Pool, {
      async connect() {
        const client = await pool.connect()
        const query = (text: string, values?: unknown[]) => {
          if (text.includes('into audit_log')) appends.push(text)
          return client.query(text, values)
        }
        return Object.assign(Object.create(client) as PoolClient, { query, release: () => client.release() })
      },
    })
    const id = await lastId()
    await inTestScope(counting, async (client) => {
      for (let n = 0; n < 1000; n++) await putRoute(client, storedRoute(`${fresh}/${n}`), 'free')
    })
    expect(appends).toHaveLength(2)
    expect((await rowsSince(id)).map(({ subject_id }) => subject_id)).toEqual(
      Array.from({ length: 1000 }, (_, n) => `${fresh}/${n}`),
    )
  })
})

describe('a scope', () => {
  test('of the operator names the object that it writes for, and is refused once another operator leads', async () => {
    const { keyId, organizationId } = await makeFixture()
    const clusterId = randomUUID()
    const fence = { clusterId, epoch: await takeEpoch(asOperator, clusterId, 'one') }
    const write = (rpm: number) =>
      writeFenced(
        { pool: asOperator, fence: () => fence },
        { kind: 'ApiKey', namespace: 'team', name: 'ci', organizationId },
        (client) => setLimits(client, keyId, { rpm }),
      )
    const id = await lastId()
    await write(1)
    await takeEpoch(asOperator, clusterId, 'two')
    await expect(write(2)).rejects.toThrow(Superseded)
    expect(await rowsSince(id)).toMatchObject([
      {
        actor_kind: 'resource',
        actor_id: `${clusterId}/ApiKey/team/ci`,
        action: 'key.set_limits',
        after: { rpm: 1 },
      },
    ])
  })

  test('of one organization writes nothing of another or of the platform', async () => {
    const [own, other] = [await makeFixture(), await makeFixture()]
    const scope = { organizationId: own.organizationId }
    const id = await lastId()
    const intruders: ((client: ScopedClient) => Promise<unknown>)[] = [
      (client) => blockKey(client, other.keyId, 'owner'),
      (client) => putPrice(client, `a/${other.fresh}`, price),
    ]
    for (const intrude of intruders)
      await expect(inTestScope(pool, intrude, scope)).rejects.toThrow(ScopeBreach)
    expect(await rowsSince(id)).toEqual([])
    await inTestScope(pool, (client) => blockKey(client, own.keyId, 'owner'), scope)
    expect(actionsOf(await rowsSince(id))).toEqual(['key.block'])
  })

  test('sets its organization in Postgres until its transaction ends', async () => {
    const { organizationId } = await makeFixture()
    const told = async (client: Pick<ScopedClient, 'query'>) => {
      const { rows } = await client.query<{ told: string }>(
        "select current_setting('model_gateway.organization_id', true) as told",
      )
      return rows[0]?.told ?? ''
    }
    const one = createPool({ databaseUrl: url, applicationName: 'test', connectionCountMax: 1 })
    expect(await inTestScope(one, told, { organizationId })).toBe(organizationId)
    expect(await told(one)).toBe('')
    expect(await inTestScope(one, told)).toBe('platform')
    await one.end()
  })

  test.each([
    ['an update', 'update organizations set name = name where name = $1'],
    ['a deletion', 'delete from model_providers where name <> $1'],
    [
      'an insertion',
      "insert into model_providers (name, document) values ($1, jsonb_build_object('name', $1::text))",
    ],
  ])('refuses %s that says nothing for the audit log, and takes it back', async (_what, sql) => {
    const { organizationId, fresh } = await makeFixture()
    await inTestScope(pool, async (client) => {
      await client.withoutAudit('part of the test', 'update organizations set name = $1 where id = $2', [
        fresh,
        organizationId,
      ])
      await putProvider(client, providerOf(`${fresh}-there`))
    })
    const before = await pool.query('select * from model_providers order by name')
    await expect(inTestScope(pool, (client) => client.query(sql, [fresh]))).rejects.toThrow(ScopeBreach)
    expect((await pool.query('select * from model_providers order by name')).rows).toEqual(before.rows)
  })

  test('is what a command needs: a pool or a client in a transaction is none', () => {
    // Never called: the compiler is the test.
    const refused = (client: PoolClient) => [
      // @ts-expect-error
      blockKey(pool, '', 'owner'),
      // @ts-expect-error
      blockKey(client, '', 'owner'),
    ]
    expect(refused).toBeTypeOf('function')
  })
})
