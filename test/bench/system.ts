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
import { webSettings } from '../support/web-settings.ts'
import { readCpuMs, readScriptUs } from './accounting.ts'
import { paths, type Target } from './load.ts'
import { nameOf, type Use } from './use.ts'

/** One proxy under measurement. `models`: how the names of its models begin. */
export type Contestant = Target & { readonly name: string; readonly pid: number; readonly models: string }

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
  /** Another checkout, whose gateway is the other one. */
  readonly before: string | undefined
  readonly ours: Use
  /** Of another gateway, which is then the second contestant. */
  readonly other: Use | undefined
  /** Of the gateway: for a profile of it, or a setting of V8 to be tried. */
  readonly nodeOptions: string
}

/** Starts everything: provider, two bare proxies, and our gateway with Redis, Postgres and worker, nothing switched off. */
export async function startBenchSystem(options: BenchOptions): Promise<BenchSystem> {
  const [redis, postgres, upstream] = await Promise.all([
    startRedis({ appendonly: 'yes' }),
    startEmbeddedPostgres({ durability: 'fast' }),
    startProcess('test/bench/upstream.ts', {}),
  ])
  const origin = originOf(upstream.baseUrl)
  const pool = createPool({ databaseUrl: postgres.url, applicationName: 'bench' })
  await migrate(pool)
  const keys = await fillCatalog(pool, upstream.baseUrl)
  const common = { ...secrets, REDIS_URL: redis.url, LOG_LEVEL: 'info' }
  const worker = await startWorker(common, postgres.url)
  const cabinet = options.ours.isKeeping ? await startCabinet(common, postgres.url) : undefined
  const settings = {
    ...common,
    ...gatewaySettings,
    ...(cabinet === undefined ? {} : { CABINET_URL: originOf(cabinet.baseUrl) }),
    NODE_OPTIONS: options.nodeOptions,
  }
  const gateway = await startProcess('gateway/main.ts', settings)
  const other = await startOther(settings, options)
  const { fastify, http, askingRedis } = await startBareProxies(origin, redis.url)
  const commands = new Redis(redis.url)
  const redisPid = redis.pid() ?? 0
  let redisIdleShare = 0
  const bare = (name: string, process: Started) => contestant(name, process, bareUse, keys)
  return {
    contestants: [
      contestant('gateway', gateway, options.ours, keys),
      other === undefined
        ? bare('bare fastify', fastify)
        : contestant(other.name, other.process, other.use, keys),
      bare('bare node:http', http),
    ],
    askingRedis: bare('fastify and Redis', askingRedis),
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
      await Promise.all(
        [fastify, http, askingRedis, worker, upstream, cabinet].map((process) => process?.kill()),
      )
      await pool.end()
      await redis[Symbol.asyncDispose]()
      await postgres[Symbol.asyncDispose]()
    },
  }
}

type Started = { readonly baseUrl: string; readonly pid: number }
/** `keeping`: responses to it are stored. */
type Keys = { readonly plain: string; readonly keeping: string }

/** Bare proxies hand the provider's own names on. */
const bareUse = { client: 'chat', models: 'bench-', isKeeping: false } as const

function contestant(
  name: string,
  { baseUrl, pid }: Started,
  use: Use | typeof bareUse,
  { plain, keeping }: Keys,
): Contestant {
  const authorization = `Bearer ${use.isKeeping ? keeping : plain}`
  return {
    name,
    pid,
    headers: { authorization, 'content-type': 'application/json' },
    origin: originOf(baseUrl),
    path: paths[use.client],
    models: 'models' in use ? use.models : `${use.adapter}/`,
  }
}

async function startOther(
  settings: Readonly<Record<string, string>>,
  { before, other: use }: Pick<BenchOptions, 'before' | 'other'>,
) {
  if (use === undefined) return undefined
  const process = await startProcess(`${before ?? '.'}/gateway/main.ts`, settings)
  return { name: before === undefined ? nameOf(use) : 'gateway before', process, use }
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

function startCabinet(env: Readonly<Record<string, string>>, databaseUrl: string) {
  return startProcess('cabinet/web/main.ts', { ...webSettings, ...env, DATABASE_URL: databaseUrl })
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

/** For each adapter: how the names of its models begin here and there, and its address. */
const providers = [
  { name: 'bench', api: 'OpenAI', path: '/v1', backend: 'bench-' },
  { name: 'openai', api: 'OpenAI', quirks: 'openai', path: '/v1', backend: 'bench-' },
  { name: 'anthropic', api: 'Anthropic', path: '/v1', backend: 'claude-opus-5-bench-' },
  { name: 'gemini', api: 'Gemini', path: '/v1beta', backend: 'gemini-3-pro-bench-' },
] as const

async function fillCatalog(pool: ReturnType<typeof createPool>, upstreamUrl: string): Promise<Keys> {
  for (const { name, path, backend, ...api } of providers) {
    await createProvider(pool, { name, ...api, baseUrl: `${originOf(upstreamUrl)}${path}` })
    for (const load of ['plain', 'slow', 'fast'])
      await createModel(pool, `${name}/${load}`, name, {
        maxOutputTokens: null,
        backends: [{ name: 'main', provider: name, model: `${backend}${load}`, priority: 0, weight: 1 }],
        timeouts: { requestMs: 60_000, firstByteMs: 10_000, streamIdleMs: 10_000 },
      })
  }
  const limits = { rpm: 100_000_000, tpm: 2_000_000_000 }
  const { key: plain } = await createCustomer(pool, { balanceNano: 10n ** 18n, ...limits })
  const keeping = await createCustomer(pool, { balanceNano: 10n ** 18n, ...limits, keepsResponsesHours: 1 })
  return { plain, keeping: keeping.key }
}
