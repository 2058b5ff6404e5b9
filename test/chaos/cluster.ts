import { appendFileSync, createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Pool } from 'pg'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { openRedis, type RedisUrls } from '#core/redis/open-redis'
import type { RedisServers } from '#core/redis/redis-connection'
import { type PostgresServer, startEmbeddedPostgres } from '#standalone/postgres'
import { createModel, createProvider } from '../support/catalog.ts'
import { urlAs } from '../support/postgres.ts'
import { type Process, secrets, startProcess } from '../support/processes.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { shopSettingsOf } from '../support/till.ts'
import { administrationSettings, webSettings } from '../support/web-settings.ts'
import { type JournalingProvider, startJournalingProvider } from './journal.ts'
import { type RedisPlace, startRedisPlace } from './redis-place.ts'
import { contextLength, model, outputTokensMax, price, tagParameters } from './request-plan.ts'
import { type ChaosTill, notifyFrom, startChaosTill } from './till.ts'

/** A place for one of our processes; who runs there changes with every death. */
export type Slot = {
  readonly name: string
  /** `undefined` while no process runs there. */
  process: Process | undefined
  /** A fault is under way here: a death is meant, and no other fault may begin. */
  busy: boolean
  start(): Promise<void>
}

/** A target of faults that is not a process of this project. */
type Server = { busy: boolean }

export type Cluster = {
  readonly redis: RedisPlace & Server
  readonly postgres: PostgresServer & Server
  readonly pool: Pool
  /** The harness's own connections, to look and to flush. */
  readonly servers: RedisServers
  readonly provider: JournalingProvider
  readonly till: ChaosTill & Server
  readonly gateways: readonly Slot[]
  readonly workers: readonly Slot[]
  /** The cabinet's web process, administration, and the receiver of notifications. */
  readonly web: Slot
  readonly administration: Slot
  readonly receiver: Slot
  /** The log lines of the processes about these requests. */
  findLogLines(requestIds: readonly string[]): Promise<readonly string[]>
  /** The last log lines of a slot's processes. */
  readLogTail(slot: string): Promise<readonly string[]>
  dispose(): Promise<void>
}

const gatewayCount = 3
const workerCount = 2
const webhookSecret = 'the secret of notifications in the chaos run'

const foundLinesMax = 30
/** The last look at a million requests takes a while. */
const statementMsMax = 600_000

/**
 * Starts Redis (AOF) or a cluster of it, Postgres, the provider, the test payment provider and this project's processes. The
 * test may kill any of them.
 */
export async function startCluster(options: {
  readonly seed: number
  readonly redis: RedisPlace['kind']
  readonly renewEveryMs: number
  readonly leaseMs: number
}): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'mg-chaos-'))
  const logFile = join(folder, 'processes.log')
  const [redis, postgres, provider, till] = await Promise.all([
    startRedisPlace(options.redis),
    startEmbeddedPostgres({ durability: 'fast' }), // what was committed survives kill -9; it is the power that is not cut
    startJournalingProvider(options.seed),
    startChaosTill(),
  ])
  const pool = createPool({
    databaseUrl: postgres.url,
    applicationName: 'chaos',
    statementTimeoutMs: statementMsMax,
  })
  const servers = openRedis(urlsOf(redis), { name: 'chaos', timeoutMs: 1_000 })
  await migrate(pool)
  await fillCatalog(pool, provider.url)
  const lease = { RENEW_EVERY_MS: String(options.renewEveryMs), LEASE_MS: String(options.leaseMs) }
  const env = { ...secrets, ...lease, LOG_LEVEL: 'info' }
  const shop = shopSettingsOf(till)
  const note = (line: string) => appendFileSync(logFile, `${line}\n`)
  const slotOf = (name: string, entry: string, own: Environment, onStarted?: Started) =>
    createSlot(name, {
      entry,
      env: { ...env, ...own },
      note,
      ...(onStarted === undefined ? {} : { onStarted }),
    })
  const { workers, gateways } = createDataPlaneSlots(slotOf, { redis, postgres, shop })
  const { web, administration, receiver } = createCabinetSlots(slotOf, { redis, postgres, till, shop })
  const slots = [...workers, ...gateways, web, administration, receiver]
  await Promise.all(slots.map((slot) => slot.start()))
  return {
    redis: { ...redis, busy: false },
    postgres: { ...postgres, busy: false },
    pool,
    servers,
    provider,
    till: { ...till, busy: false },
    gateways,
    workers,
    web,
    administration,
    receiver,
    findLogLines: (ids) => grep(logFile, (line) => ids.some((id) => line.includes(id))),
    readLogTail: (slot) => grep(logFile, (line) => line.startsWith(`${slot} `)),
    async dispose() {
      await Promise.all(slots.map((slot) => slot.process?.kill()))
      await provider.stop()
      await till.stop()
      servers.close()
      await pool.end()
      await redis.dispose()
      await postgres[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function urlsOf({ url }: RedisPlace): RedisUrls {
  const [first = '', ...others] = url.split(',')
  return [first, ...others]
}

type Environment = Readonly<Record<string, string>>
type Started = (process: Process) => Promise<void>

function createSlot(
  name: string,
  {
    entry,
    env,
    note,
    onStarted,
  }: {
    readonly entry: string
    readonly env: Environment
    readonly note: (line: string) => void
    readonly onStarted?: Started
  },
): Slot {
  const slot: Slot = {
    name,
    process: undefined,
    busy: false,
    async start() {
      slot.process = await startProcess(entry, env, (line) => note(`${name} ${line}`))
      await onStarted?.(slot.process)
    },
  }
  return slot
}

type SlotOf = (name: string, entry: string, own: Environment, onStarted?: Started) => Slot

function createDataPlaneSlots(
  slotOf: SlotOf,
  {
    redis,
    postgres,
    shop,
  }: { readonly redis: RedisPlace; readonly postgres: PostgresServer; readonly shop: Environment },
) {
  const workers = Array.from({ length: workerCount }, (_, n) =>
    slotOf(`worker-${n}`, 'worker/main.ts', {
      ...shop,
      REDIS_URL: redisUrlOf.worker(redis.url),
      DATABASE_URL: urlAs('model_gateway_worker', postgres.url),
      WORKER_ADMIN_PORT: '0',
      WORKER_HOST: '127.0.0.1',
    }),
  )
  const gateways = Array.from({ length: gatewayCount }, (_, n) =>
    slotOf(`gateway-${n}`, 'gateway/main.ts', {
      REDIS_URL: redisUrlOf.gateway(redis.url),
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_HOST: '127.0.0.1',
      UPSTREAM_ALLOWED_CIDRS: '127.0.0.0/8',
    }),
  )
  return { workers, gateways }
}

/** The processes that users and the test payment provider call. */
function createCabinetSlots(
  slotOf: SlotOf,
  {
    redis,
    postgres,
    till,
    shop,
  }: {
    readonly redis: RedisPlace
    readonly postgres: PostgresServer
    readonly till: ChaosTill
    readonly shop: Environment
  },
): Pick<Cluster, 'web' | 'administration' | 'receiver'> {
  const web = slotOf('web', 'cabinet/web/main.ts', {
    ...webSettings,
    ...shop,
    REDIS_URL: redisUrlOf.cabinet(redis.url),
    DATABASE_URL: urlAs('model_gateway_cabinet', postgres.url),
    TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
  })
  const administration = slotOf('administration', 'cabinet/administration/main.ts', {
    ...administrationSettings,
    ADMINISTRATION_ALONE_MAX_RUB: '1000000', // no refund waits for another administrator
    ...shop,
    REDIS_URL: redisUrlOf.cabinet(redis.url),
    DATABASE_URL: urlAs('model_gateway_administration', postgres.url),
    TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
  })
  const receiver = slotOf(
    'receiver',
    'cabinet/webhook/main.ts',
    {
      DATABASE_URL: urlAs('model_gateway_webhook', postgres.url),
      WEBHOOK_SECRET: webhookSecret,
      WEBHOOK_ALLOWED_CIDRS: notifyFrom,
      WEBHOOK_PORT: '0',
      WEBHOOK_ADMIN_PORT: '0',
      WEBHOOK_HOST: '127.0.0.1',
    },
    ({ baseUrl }) =>
      till.notify(`${new URL(baseUrl).origin}/webhooks/yookassa?secret=${encodeURIComponent(webhookSecret)}`),
  )
  return { web, administration, receiver }
}

/** The last lines that are like that; of a file of any length. */
async function grep(file: string, isWanted: (line: string) => boolean): Promise<readonly string[]> {
  const found: string[] = []
  for await (const line of createInterface(createReadStream(file)))
    if (isWanted(line) && found.push(line) > foundLinesMax) found.shift()
  return found
}

async function fillCatalog(pool: Pool, providerUrl: string): Promise<void> {
  await createProvider(pool, { name: 'journal', baseUrl: providerUrl })
  const backend = { provider: 'journal', model, weight: 1 }
  await createModel(pool, model, 'journal', {
    ...price,
    contextLength,
    maxOutputTokens: outputTokensMax,
    defaultOutputTokens: 100,
    backends: [
      { ...backend, name: 'first', priority: 0 },
      { ...backend, name: 'second', priority: 1 },
    ],
    timeouts: { requestMs: 8_000, firstByteMs: 1_500, streamIdleMs: 1_500 },
    attempts: 2,
    parameters: { drop: [...tagParameters], rename: {}, defaults: {} },
  })
}
