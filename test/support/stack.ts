import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Pool, PoolClient } from 'pg'
import { afterAll, expect, vi } from 'vitest'
import type { ProviderDocument } from '#core/catalog/catalog-document'
import { inTransaction } from '#core/db/transaction'
import { writeKey } from '#core/keys/key'
import type { KeyLimits } from '#core/keys/key-state'
import { readBalance } from '#core/ledger/balance'
import type { RequestRecord } from '#core/ledger/request-record'
import { allShards } from '#core/redis/shard'
import { type RedisServer, startRedis } from '#standalone/redis'
import { createModel, createProvider, type ModelFields } from './catalog.ts'
import { type Customer, createCustomer, pepper } from './customer.ts'
import { createDatabase, type TestDatabase, urlAs } from './postgres.ts'
import { type Process, secrets, startProcess } from './processes.ts'
import { clusterAsServer, type RedisCluster } from './redis-cluster.ts'
import { readRefusals, redisLogins, redisUrlOf } from './redis-logins.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { administrationSettings, webSettings } from './web-settings.ts'

/** A whole system on real parts: Redis, a database, a scripted provider, workers and gateways. */
export type Stack = {
  readonly redis: RedisServer
  readonly database: TestDatabase
  readonly upstream: Upstream
  /** `onLine` hears all that it logs. */
  startGateway(env?: Readonly<Record<string, string>>, onLine?: (line: string) => void): Promise<Process>
  startWorker(env?: Readonly<Record<string, string>>, onLine?: (line: string) => void): Promise<Process>
  /**
   * Processes of another release, whose files are in `folder`. They may do everything in Redis: its users
   * came later.
   */
  ofRelease(folder: string): DataPlane & Pick<Stack, 'startWeb'>
  /** The cabinet's web process. */
  startWeb(env?: Readonly<Record<string, string>>, onLine?: (line: string) => void): Promise<Process>
  /** The administration process. */
  startAdministration(
    env?: Readonly<Record<string, string>>,
    onLine?: (line: string) => void,
  ): Promise<Process>
  /** Creates a separate provider, by default at the scripted one's address, and returns its name. */
  createProvider(fields?: Partial<ProviderDocument>): Promise<string>
  /** Makes a chat model at the scripted provider, whose name there is the same, and answers its name. */
  createModel(fields?: ModelFields): Promise<string>
  /** Creates an organization with money (100 ₽ by default) and a key. */
  createCustomer(options?: CustomerOptions): Promise<Customer>
  /** What an organization has posted: its charges by request id, in nano-rubles, and its balance. */
  readBooks(organizationId: string): Promise<Books>
}

type DataPlane = Pick<Stack, 'startGateway' | 'startWorker'>
type DataPlaneUrls = Pick<typeof redisUrlOf, 'gateway' | 'worker'>

const asOwner: DataPlaneUrls = { gateway: (url) => url, worker: (url) => url }

export type CustomerOptions = KeyLimits & { readonly balanceNano?: bigint }

type Books = {
  readonly balance: bigint
  /** Net of a request's rows, positive: what it cost. Requests that cost nothing are not here. */
  readonly costs: ReadonlyMap<string, bigint>
  /** Ledger rows of kind `charge` per request. */
  readonly chargeRows: ReadonlyMap<string, number>
  readonly records: ReadonlyMap<string, { readonly cost: bigint; readonly record: RequestRecord }>
}

/** Leases and renewals 20 times faster than in production, so that a test need not wait for them. */
const quick = { RENEW_EVERY_MS: '250', LEASE_MS: '1000' } as const

type StackOptions = {
  readonly appendonly?: 'yes' | 'no'
  readonly database?: TestDatabase
  /** Instead of a single Redis; the caller ends it. */
  readonly cluster?: RedisCluster
}

/**
 * Starts Redis, database and provider for this test file; the test starts processes, and all of it ends with the
 * file. Call it at the top of the file: a hook of Vitest that is registered inside another one never runs.
 */
export async function stackOfThisFile(options: StackOptions = {}): Promise<Stack> {
  const [redis, database, upstream] = await Promise.all([
    options.cluster === undefined
      ? startRedis({ appendonly: options.appendonly ?? 'no', logins: redisLogins })
      : clusterAsServer(options.cluster),
    options.database ?? createDatabase(),
    startUpstream(),
  ])
  const processes: Process[] = []
  afterAll(async () => {
    await Promise.all(processes.map((process) => process.kill()))
    await upstream.stop()
    await expectNoRefusals(options.cluster?.nodes ?? [redis])
    if (options.cluster === undefined) await redis[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })
  const env = { ...secrets, ...quick, LOG_LEVEL: 'info' }
  const start: Start = async (entry, extra, onLine) => {
    const process = await startProcess(entry, { ...env, ...extra }, onLine)
    processes.push(process)
    return process
  }
  const dataPlane = (folder: string, urlOf: DataPlaneUrls, workerEntry?: string) =>
    createDataPlane(start, { redis, database }, urlOf, { folder, workerEntry })
  const web =
    (folder: string, redisUrl: string): Stack['startWeb'] =>
    (extra = {}, onLine) =>
      start(
        join(folder, 'cabinet/web/main.ts'),
        {
          ...webSettings,
          DATABASE_URL: urlAs('model_gateway_cabinet', database.url),
          REDIS_URL: redisUrl,
          ...extra,
        },
        onLine,
      )
  return {
    redis,
    database,
    upstream,
    ...dataPlane('', redisUrlOf),
    ofRelease: (folder) => ({
      ...dataPlane(folder, asOwner, 'cabinet/worker/main.ts'),
      startWeb: web(folder, redis.url),
    }),
    startWeb: web('', redisUrlOf.cabinet(redis.url)),
    startAdministration: (extra = {}, onLine) =>
      start(
        'cabinet/administration/main.ts',
        {
          ...administrationSettings,
          DATABASE_URL: urlAs('model_gateway_administration', database.url),
          REDIS_URL: redisUrlOf.cabinet(redis.url),
          ...extra,
        },
        onLine,
      ),
    async createProvider({ name = `p-${randomBytes(6).toString('hex')}`, ...fields } = {}) {
      await createProvider(database.pool, { baseUrl: upstream.url, ...fields, name })
      return name
    },
    async createModel({ model = `test/m-${randomBytes(6).toString('hex')}`, ...fields } = {}) {
      await createProvider(database.pool, { name: 'scripted', baseUrl: upstream.url })
      await createModel(database.pool, model, 'scripted', fields)
      return model
    },
    createCustomer: ({ balanceNano = 100_000_000_000n, ...limits } = {}) =>
      createCustomer(database.pool, { balanceNano, ...limits }),
    readBooks: (organizationId) => readBooks(database.pool, organizationId),
  }
}

/** A process that has to do what its user may not would often go on and look well. */
async function expectNoRefusals(servers: readonly RedisServer[]): Promise<void> {
  for (const { pid, url } of servers) expect(pid() === undefined ? [] : await readRefusals(url)).toEqual([])
}

type Start = (
  entry: string,
  env: Readonly<Record<string, string>>,
  onLine?: (line: string) => void,
) => Promise<Process>

/** The processes of the release in `folder`. */
function createDataPlane(
  start: Start,
  { redis, database }: Pick<Stack, 'redis' | 'database'>,
  urlOf: DataPlaneUrls,
  {
    folder,
    workerEntry = 'worker/main.ts',
  }: { readonly folder: string; readonly workerEntry: string | undefined },
): DataPlane {
  return {
    startGateway: (extra = {}, onLine) =>
      start(
        join(folder, 'gateway/main.ts'),
        {
          GATEWAY_PORT: '0',
          GATEWAY_ADMIN_PORT: '0',
          GATEWAY_HOST: '127.0.0.1',
          UPSTREAM_ALLOWED_CIDRS: '127.0.0.0/8',
          REDIS_URL: urlOf.gateway(redis.url),
          ...extra,
        },
        onLine,
      ),
    startWorker: (extra = {}, onLine) =>
      start(
        join(folder, workerEntry),
        {
          DATABASE_URL: urlAs('model_gateway_worker', database.url),
          WORKER_ADMIN_PORT: '0',
          WORKER_HOST: '127.0.0.1',
          REDIS_URL: urlOf.worker(redis.url),
          ...extra,
        },
        onLine,
      ),
  }
}

/** Resolves once a gateway knows the customer's key and the model: both reach it through Redis. */
export async function untilServed(gateway: Process, key: string, model: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const { status } = await post(
        gateway,
        key,
        { model, messages: [{ role: 'user', content: 'x' }] },
        probe,
      )
      expect([401, 404, 503]).not.toContain(status)
    },
    { timeout: 15_000, interval: 20 },
  )
}

/** Resolves once a gateway lists the models to the key; asks no provider. Several new ones arrive in any order. */
export async function untilListed(gateway: Process, key: string, models: readonly string[]): Promise<void> {
  await vi.waitFor(
    async () => {
      const answer = await fetch(`${gateway.baseUrl}/models`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const { data } = (await answer.json()) as { data?: { id: string }[] }
      const listed = new Set(data?.map(({ id }) => id))
      expect(models.filter((model) => !listed.has(model))).toEqual([])
    },
    { timeout: 60_000, interval: 50 },
  )
}

/**
 * Resolves once every shard is open to a gateway. Shards do not open at one moment, and until then no client
 * gets 401.
 */
export async function untilOpen(gateway: Process): Promise<void> {
  await Promise.all(
    allShards.map((shard) =>
      vi.waitFor(async () => {
        const { status } = await post(gateway, writeKey(shard, randomBytes(32), pepper), {})
        expect(status).toBe(401)
      }),
    ),
  )
}

/** A cap that every priced model exceeds: the request is rejected before a provider hears of it. */
const probe = { 'x-gateway-max-cost-rub': '0' }

/** One raw chat request. */
export function post(
  gateway: Pick<Process, 'baseUrl'>,
  key: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** Asks for the count of tokens of a request in Anthropic's format. */
export function countTokens(gateway: Pick<Process, 'baseUrl'>, key: string, body: object): Promise<Response> {
  return fetch(`${gateway.baseUrl}/messages/count_tokens`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** In one snapshot: a charge that is posted in the meantime is either seen whole or not at all. */
function readBooks(pool: Pool, organizationId: string): Promise<Books> {
  const read = async (client: PoolClient) => {
    const { rows: ledger } = await client.query<{ ref_id: string; charges: number; net: bigint }>(
      `select ref_id, count(*) filter (where kind = 'charge')::int as charges, (-sum(amount))::bigint as net
         from balance_ledger where organization_id = $1 and kind in ('charge', 'adjust') group by ref_id`,
      [organizationId],
    )
    const { rows: requests } = await client.query<{ id: string; cost: bigint; record: RequestRecord }>(
      'select id, cost, record from requests where organization_id = $1',
      [organizationId],
    )
    return {
      balance: await readBalance(client, organizationId),
      costs: new Map(ledger.map(({ ref_id, net }) => [ref_id, net])),
      chargeRows: new Map(ledger.map(({ ref_id, charges }) => [ref_id, charges])),
      records: new Map(requests.map(({ id, cost, record }) => [id, { cost, record }])),
    }
  }
  return inTransaction(pool, read, { isolation: 'repeatable read' })
}
