import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { allShards, chargesName } from '#core/redis/shard'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { startRedis } from '#standalone/redis'
import { createModel, createProvider } from '../support/catalog.ts'
import { createCustomer, pepper } from '../support/customer.ts'
import { startProcess } from '../support/processes.ts'
import { readCpuMs, readScriptUs } from './accounting.ts'
import { paths, type Target } from './load.ts'

/** One proxy under measurement. `models`: how the names of its models begin. */
export type Contestant = Target & { readonly name: string; readonly pid: number; readonly models: string }

/** The APIs that clients speak. */
export const clients = ['chat', 'responses', 'messages'] as const
export type Client = (typeof clients)[number]

/** Providers' APIs other than OpenAI's. */
export const adapters = ['anthropic', 'gemini'] as const
type Adapter = (typeof adapters)[number]

export type BenchSystem = {
  /** Ours first. */
  readonly contestants: readonly [Contestant, Contestant, Contestant]
  /** The bare Fastify proxy with nothing but the two questions to Redis that ours asks, too. */
  readonly askingRedis: Contestant
  readonly redisPid: number
  /** Share of one processor that Redis takes without requests: the worker polls it all the time. */
  readonly redisIdleShare: number
  measureIdleRedis(): Promise<void>
  /** Time that Redis has spent in scripts so far, in µs. */
  readScriptUs(): Promise<number>
  /** Waits until the worker has posted what waits: its work after one load is no part of the next one. */
  settled(): Promise<void>
  /** Does something while the worker is stopped; its locks bear that for less than 5 s. */
  withoutWorker<Answer>(work: () => Promise<Answer>): Promise<Answer>
  stop(): Promise<void>
}

const secrets = {
  KEY_PEPPER: pepper,
  CREDENTIALS_KEY: Buffer.alloc(32, 7).toString('base64'),
  ROUTES_SIGNING_KEY: 'the key that signs routes in the benchmark',
}

const gatewaySettings = {
  GATEWAY_PORT: '0',
  GATEWAY_ADMIN_PORT: '0',
  GATEWAY_HOST: '127.0.0.1',
  UPSTREAM_ALLOWED_CIDRS: '127.0.0.0/8',
}

const idleMs = 3000

type BenchOptions = {
  /** Another checkout, whose gateway is then the second contestant. */
  readonly before: string | undefined
  /** The API of the gateway's provider; OpenAI's is then the second contestant, through another gateway. */
  readonly adapter: Adapter | undefined
  /** The API that the gateway's clients speak. Other than chat, another gateway whose clients chat is the second contestant. */
  readonly client: Client
  /** Of the gateway: for a profile of it, or a setting of V8 to be tried. */
  readonly nodeOptions: string
}

/** Starts everything: provider, two bare proxies, and our gateway with Redis, Postgres and worker, nothing switched off. */
export async function startBenchSystem(options: BenchOptions): Promise<BenchSystem> {
  const { nodeOptions, adapter, client } = options
  const [redis, postgres, upstream] = await Promise.all([
    startRedis({ appendonly: 'yes' }),
    startEmbeddedPostgres({ durability: 'fast' }),
    startProcess('test/bench/upstream.ts', {}),
  ])
  const origin = originOf(upstream.baseUrl)
  const pool = createPool({ databaseUrl: postgres.url, applicationName: 'bench' })
  await migrate(pool)
  const key = await fillCatalog(pool, upstream.baseUrl)
  const common = { ...secrets, REDIS_URL: redis.url, LOG_LEVEL: 'info' }
  const worker = await startWorker(common, postgres.url)
  const settings = { ...common, ...gatewaySettings, NODE_OPTIONS: nodeOptions }
  const gateway = await startProcess('gateway/main.ts', settings)
  const other = await startOther(settings, options)
  const { fastify, http, askingRedis } = await startBareProxies(origin, redis.url)
  const commands = new Redis(redis.url)
  const redisPid = redis.pid() ?? 0
  let redisIdleShare = 0
  const contestant = contestantsWith(key)
  const ownModels = `${adapter ?? 'bench'}/`
  return {
    contestants: [
      contestant('gateway', gateway, ownModels, client),
      other === undefined
        ? contestant('bare fastify', fastify, 'bench-')
        : contestant(other.name, other.process, client === 'chat' ? 'bench/' : ownModels),
      contestant('bare node:http', http, 'bench-'),
    ],
    askingRedis: contestant('fastify and Redis', askingRedis, 'bench-'),
    redisPid,
    get redisIdleShare() {
      return redisIdleShare
    },
    async measureIdleRedis() {
      const beforeMs = readCpuMs(redisPid)
      await pause(idleMs)
      redisIdleShare = (readCpuMs(redisPid) - beforeMs) / idleMs
    },
    readScriptUs: () => readScriptUs(commands),
    async settled() {
      while (await hasCharges(commands)) await pause(50)
    },
    async withoutWorker(work) {
      worker.freeze()
      try {
        return await work()
      } finally {
        worker.thaw()
      }
    },
    async stop() {
      commands.disconnect()
      await Promise.all([gateway.stop(), other?.process.stop()]) // in order, so that a profile is written
      await Promise.all([fastify, http, askingRedis, worker, upstream].map((process) => process.kill()))
      await pool.end()
      await redis[Symbol.asyncDispose]()
      await postgres[Symbol.asyncDispose]()
    },
  }
}

/** Makes contestants of processes; they are asked with this key. */
function contestantsWith(key: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return (
    name: string,
    { baseUrl, pid }: { readonly baseUrl: string; readonly pid: number },
    models: string,
    client: Client = 'chat',
  ): Contestant => ({ name, pid, headers, origin: originOf(baseUrl), path: paths[client], models })
}

async function startOther(
  settings: Readonly<Record<string, string>>,
  { before, adapter, client }: BenchOptions,
) {
  if (before !== undefined)
    return { name: 'gateway before', process: await startProcess(`${before}/gateway/main.ts`, settings) }
  const startAnother = () => startProcess('gateway/main.ts', settings)
  if (client !== 'chat') return { name: 'gateway by chat', process: await startAnother() }
  if (adapter === undefined) return undefined
  return { name: 'gateway to OpenAI', process: await startAnother() }
}

function startWorker(env: Readonly<Record<string, string>>, databaseUrl: string) {
  return startProcess('worker/main.ts', {
    ...env,
    RENEW_EVERY_MS: '500',
    DATABASE_URL: databaseUrl,
    WORKER_ADMIN_PORT: '0',
    WORKER_HOST: '127.0.0.1',
  })
}

async function startBareProxies(origin: string, redisUrl: string) {
  const env = { UPSTREAM_ORIGIN: origin }
  return {
    fastify: await startProcess('test/bench/bare-fastify.ts', env),
    http: await startProcess('test/bench/bare-http.ts', env),
    askingRedis: await startProcess('test/bench/fastify-and-redis.ts', { ...env, REDIS_URL: redisUrl }),
  }
}

async function hasCharges(redis: Redis): Promise<boolean> {
  const lengths = await Promise.all(allShards.map((shard) => redis.xlen(chargesName(shard))))
  return lengths.some((length) => length > 0)
}

function originOf(baseUrl: string): string {
  return new URL(baseUrl).origin
}

/** For each API of a provider: how the names of its models begin here and there, and its address. */
const providers = [
  { name: 'bench', api: 'OpenAI', path: '/v1', backend: 'bench-' },
  { name: 'anthropic', api: 'Anthropic', path: '/v1', backend: 'claude-opus-5-bench-' },
  { name: 'gemini', api: 'Gemini', path: '/v1beta', backend: 'gemini-3-pro-bench-' },
] as const

async function fillCatalog(pool: ReturnType<typeof createPool>, upstreamUrl: string): Promise<string> {
  for (const { name, api, path, backend } of providers) {
    await createProvider(pool, { name, api, baseUrl: `${originOf(upstreamUrl)}${path}` })
    for (const load of ['plain', 'slow', 'fast'])
      await createModel(pool, `${name}/${load}`, name, {
        maxOutputTokens: null,
        backends: [{ name: 'main', provider: name, model: `${backend}${load}`, priority: 0, weight: 1 }],
        timeouts: { requestMs: 60_000, firstByteMs: 10_000, streamIdleMs: 10_000 },
      })
  }
  const limits = { rpm: 100_000_000, tpm: 2_000_000_000 }
  const { key } = await createCustomer(pool, { balanceNano: 10n ** 18n, ...limits })
  return key
}
