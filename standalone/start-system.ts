import { mkdirSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { readConfig as readAdministrationConfig } from '#cabinet/administration/config'
import { startAdministration } from '#cabinet/administration/start-administration'
import { buildPagesIfOlder } from '#cabinet/pages/build-pages'
import { readConfig as readWebConfig } from '#cabinet/web/config'
import { startWeb } from '#cabinet/web/start-web'
import { readBacklog } from '#core/admission/backlog'
import { cabinetRedisUser, gatewayRedisUser, workerRedisUser } from '#core/admission/redis-users'
import { readDatabaseId } from '#core/db/database-id'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { requirePepper } from '#core/keys/database-pepper'
import { PepperMismatch } from '#core/keys/pepper'
import { readBalance } from '#core/ledger/balance'
import type { NanoRub } from '#core/ledger/money'
import type { Log } from '#core/process/log'
import { logOptions } from '#core/process/log-options'
import { connectRedis, RedisUnavailable } from '#core/redis/redis-connection'
import { readConfig as readGatewayConfig } from '#gateway/config'
import { startGateway } from '#gateway/start-gateway'
import { readConfig as readWorkerConfig } from '#worker/config'
import { startWorker } from '#worker/start-worker'
import { claimRedis } from './claimed-redis.ts'
import { placeFilesOf } from './database-files.ts'
import { type DemoAccount, readOrMakeDemoAccount } from './demo-account.ts'
import { putDemoCatalog } from './demo-catalog.ts'
import { writeDemoHistory } from './demo-history.ts'
import { type DemoPeople, readOrMakeDemoPeople } from './demo-people.ts'
import { startDemoProvider } from './demo-provider/start-demo-provider.ts'
import { startDemoShop } from './demo-shop.ts'
import { closeToOthers, noteFolderUser } from './folder-user.ts'
import { mailboxPath, startMailbox } from './mailbox.ts'
import { upstreamAllowedCidrs } from './manifests/allowed-cidrs.ts'
import { followManifests } from './manifests/follow-manifests.ts'
import { findFreePort, requireFreePort } from './port.ts'
import { startEmbeddedPostgres } from './postgres.ts'
import { findRedisServer, redisUrlAs, startRedis } from './redis.ts'
import { readOrMakeSecrets, type Secrets } from './secrets.ts'

export type SystemOptions = {
  readonly dataDir: string
  readonly gatewayPort: number
  readonly adminPort: number
  readonly cabinetPort: number
  /** On loopback only. */
  readonly administrationPort: number
  readonly testPaymentsPort: number
  /** Addresses to listen on. */
  readonly gatewayHost: string
  readonly cabinetHost: string
  /** Your own Postgres; otherwise one is started. */
  readonly databaseUrl: string | undefined
  /** Your own Redis or Valkey; otherwise one is started. */
  readonly redisUrl: string | undefined
  /** Credited once to an organization that is created here. */
  readonly openingBalance: NanoRub
  /** Folder of custom resources to follow. */
  readonly manifestsFolder: string | undefined
  /** For provider credentials whose Secrets are not in that folder. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Gets each step as a line. */
  readonly say: (line: string) => void
  /** Gets lines about the manifests, new key secrets, and emails at any time. */
  readonly tell: (line: string) => void
}

export type System = {
  readonly baseUrl: string
  readonly adminUrl: string
  readonly cabinetUrl: string
  /** Only on this machine. */
  readonly administrationUrl: string
  /** Shows the system's emails, only on this machine. */
  readonly mailCatcherUrl: string
  /** Where top-ups are paid and refunded, only on this machine. */
  readonly testPaymentsUrl: string
  /** The seeded users of the cabinet. `undefined` with your own database, where no users are seeded. */
  readonly people: DemoPeople | undefined
  readonly apiKey: string
  readonly organization: string
  readonly organizationId: string
  readonly balance: NanoRub
  readonly databaseUrl: string
  readonly redisUrl: string
  /** Stops only what this process started, in reverse order. */
  stop(): Promise<void>
}

/** The Redis URL of each process. Your own Redis has only one user. */
type RedisUrls = Readonly<Record<'everything' | 'gateway' | 'worker' | 'cabinet', string>>

type Stores = { readonly databaseUrl: string; readonly redisUrls: RedisUrls }

/** On one machine, epochs can open fast: the gateway renews every second. */
const renewEveryMs = 1_000
const leaseMs = 4 * renewEveryMs
/** Time from a started system to its first response. A fresh machine takes a few seconds. */
const readyWithinMs = 30_000

/** Starts everything on this machine and resolves once requests are served. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne()
  }
  try {
    return { ...(await startParts(options, stops)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startParts(
  options: SystemOptions,
  stops: (() => Promise<unknown>)[],
): Promise<Omit<System, 'stop'>> {
  const { dataDir, say } = options
  await requireFreePort(options.gatewayPort, options.gatewayHost, 'GATEWAY_PORT')
  await requireFreePort(options.adminPort, options.gatewayHost, 'GATEWAY_ADMIN_PORT')
  await requireFreePort(options.cabinetPort, options.cabinetHost, 'CABINET_PORT')
  await requireFreePort(options.administrationPort, '127.0.0.1', 'ADMINISTRATION_PORT')
  await requireFreePort(options.testPaymentsPort, '127.0.0.1', 'TEST_PAYMENTS_PORT')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  closeToOthers(dataDir)
  const leaveFolder = noteFolderUser(dataDir)
  stops.push(async () => leaveFolder())
  const secrets = readOrMakeSecrets(dataDir)

  const [databaseUrl, redisServer] = await Promise.all([
    openDatabase(options, stops),
    findServer(options),
    buildPagesIfOlder(),
  ])
  say('Migrating the database')
  const pool = createPool({ databaseUrl, applicationName: 'model-gateway-standalone', connectionCountMax: 2 })
  stops.push(() => pool.end())
  const databaseId = await prepareDatabase(pool, secrets, dataDir)
  const redisUrls = await openRedis(options, redisServer, databaseId, secrets, stops)

  say('Starting the demo provider, the test payment provider, the worker, the cabinet and the gateway')
  const account = await fillDatabase(pool, options, secrets, stops)
  const people =
    options.databaseUrl === undefined
      ? await readOrMakeDemoPeople(pool, account.organizationId, secrets)
      : undefined

  const { appUrl, baseUrl, administrationUrl, gateway, testPaymentsUrl } = await startProcesses(
    options,
    secrets,
    { databaseUrl, redisUrls },
    stops,
  )
  await waitUntilOpen(redisUrls.worker)
  await waitUntilServing(baseUrl, account.apiKey)
  const balance = await readBalance(pool, account.organizationId)
  return {
    baseUrl,
    adminUrl: `http://${nameOf(options.gatewayHost)}:${gateway.adminPort}`,
    cabinetUrl: appUrl,
    administrationUrl,
    mailCatcherUrl: `${appUrl}${mailboxPath}`,
    testPaymentsUrl,
    people,
    ...account,
    balance,
    databaseUrl,
    redisUrl: redisUrls.everything,
  }
}

/** Alerts may be received on this machine. */
const workerOfDemo = {
  WORKER_ADMIN_PORT: '0',
  WORKER_HOST: '127.0.0.1',
  MAIL_FROM: 'Model Gateway <no-reply@localhost>',
  NOTIFICATION_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
}

/** Test payment provider, webhook receiver, worker, cabinet, administration and gateway, in this process. */
async function startProcesses(
  options: SystemOptions,
  secrets: Secrets,
  stores: Stores,
  stops: (() => Promise<unknown>)[],
) {
  const { keyPepper, routesSigningKey, credentialsKey } = secrets
  const log = openLog(options)
  const common = {
    ROUTES_SIGNING_KEY: routesSigningKey,
    RENEW_EVERY_MS: String(renewEveryMs),
    LEASE_MS: String(leaseMs),
  }
  const mailbox = await startMailbox({ tell: options.tell })
  stops.push(() => mailbox.stop())
  const shop = await startDemoShop({
    dataDir: options.dataDir,
    testPaymentsPort: options.testPaymentsPort,
    secrets,
    log,
    databaseUrl: databaseUrlAs('model_gateway_webhook', options, stores.databaseUrl),
  })
  stops.push(() => shop.stop())
  const worker = await startWorker(
    readWorkerConfig({
      ...common,
      ...shop.settings,
      REDIS_URL: stores.redisUrls.worker,
      DATABASE_URL: databaseUrlAs('model_gateway_worker', options, stores.databaseUrl),
      ...workerOfDemo,
      SMTP_URL: mailbox.smtpUrl,
    }),
    log,
  )
  stops.push(() => worker.stop())
  const { cabinetPort, gatewayPort, appUrl, baseUrl } = await findAddresses(options)
  const web = await startWeb(
    readWebConfig({
      ...shop.settings,
      DATABASE_URL: databaseUrlAs('model_gateway_cabinet', options, stores.databaseUrl),
      REDIS_URL: stores.redisUrls.cabinet,
      KEY_PEPPER: keyPepper,
      CABINET_SEALING_KEY: secrets.cabinetSealingKey,
      APP_URL: appUrl,
      GATEWAY_BASE_URL: baseUrl,
      CABINET_HOST: options.cabinetHost,
      CABINET_PORT: String(cabinetPort),
      CABINET_ADMIN_PORT: '0',
    }),
    log,
    { localPages: mailbox.pages, mounts: [shop.mount] },
  )
  stops.push(() => web.stop())
  const administrationUrl = await startOwnAdministration(options, { secrets, stores, log, shop }, stops)
  const gateway = await startGateway(
    readGatewayConfig({
      ...common,
      REDIS_URL: stores.redisUrls.gateway,
      KEY_PEPPER: keyPepper,
      CREDENTIALS_KEY: credentialsKey,
      CABINET_URL: appUrl,
      APP_URL: appUrl,
      GATEWAY_HOST: options.gatewayHost,
      GATEWAY_PORT: String(gatewayPort),
      GATEWAY_ADMIN_PORT: String(options.adminPort),
      UPSTREAM_ALLOWED_CIDRS: upstreamAllowedCidrs.join(','),
    }),
    log,
  )
  stops.push(() => gateway.stop())
  return { appUrl, baseUrl, administrationUrl, gateway, testPaymentsUrl: shop.testPaymentsUrl }
}

/** Administration, on loopback only. Returns its URL. */
async function startOwnAdministration(
  options: SystemOptions,
  {
    secrets,
    stores,
    log,
    shop,
  }: {
    readonly secrets: Secrets
    readonly stores: Stores
    readonly log: Log
    readonly shop: { readonly settings: Readonly<Record<string, string>> }
  },
  stops: (() => Promise<unknown>)[],
): Promise<string> {
  const administrationPort = options.administrationPort || (await findFreePort())
  const administrationUrl = `http://localhost:${administrationPort}`
  const administration = await startAdministration(
    readAdministrationConfig({
      ...shop.settings,
      DATABASE_URL: databaseUrlAs('model_gateway_administration', options, stores.databaseUrl),
      REDIS_URL: stores.redisUrls.cabinet,
      ADMINISTRATION_SEALING_KEY: secrets.administrationSealingKey,
      CREDENTIALS_KEY: secrets.credentialsKey,
      UPSTREAM_ALLOWED_CIDRS: upstreamAllowedCidrs.join(','),
      ADMINISTRATION_URL: administrationUrl,
      ADMINISTRATION_HOST: '127.0.0.1',
      ADMINISTRATION_PORT: String(administrationPort),
      ADMINISTRATION_ADMIN_PORT: '0',
    }),
    log,
  )
  stops.push(() => administration.stop())
  return administrationUrl
}

function openLog({ dataDir }: SystemOptions): Log {
  return pino(
    { ...logOptions, name: 'model-gateway' },
    pino.destination({ dest: join(dataDir, 'log'), mode: 0o600 }),
  )
}

/** Email and pages link to cabinet and gateway, so their ports are known before either starts. */
async function findAddresses(options: SystemOptions) {
  const cabinetPort = options.cabinetPort || (await findFreePort())
  const gatewayPort = options.gatewayPort || (await findFreePort())
  return {
    cabinetPort,
    gatewayPort,
    appUrl: `http://${nameOf(options.cabinetHost)}:${cabinetPort}`,
    baseUrl: `http://${nameOf(options.gatewayHost)}:${gatewayPort}/v1`,
  }
}

/** Our own Postgres as one of its roles sees it. In one of the caller's the roles may be missing, or not be the user's. */
function databaseUrlAs(role: string, options: SystemOptions, databaseUrl: string): string {
  if (options.databaseUrl !== undefined) return databaseUrl
  const url = new URL(databaseUrl)
  url.searchParams.set('options', `-c role=${role}`)
  return url.href
}

/** The name of a listening address in this machine's own URLs. */
function nameOf(host: string): string {
  if (['127.0.0.1', '::1', '0.0.0.0', '::'].includes(host)) return 'localhost'
  return isIPv6(host) ? `[${host}]` : host
}

/** Migrates the database, puts its files in place, and returns its ID. */
async function prepareDatabase(pool: Pool, secrets: Secrets, dataDir: string): Promise<string> {
  await migrate(pool)
  await refuseOtherPepper(pool, secrets, dataDir)
  const databaseId = await readDatabaseId(pool)
  placeFilesOf(databaseId, dataDir)
  return databaseId
}

/** @throws Error if the database's keys were created with another data folder, because none of them would work. */
async function refuseOtherPepper(pool: Pool, { keyPepper }: Secrets, dataDir: string): Promise<void> {
  await requirePepper(pool, keyPepper).catch((cause: unknown) => {
    if (!(cause instanceof PepperMismatch)) throw cause
    throw new Error(
      `The API keys of this database were created with a different pepper than the one in ${join(dataDir, 'secrets.json')}, ` +
        'so none of them would work. Start with the data folder that belongs to this database, or with an empty database.',
      { cause },
    )
  })
}

/** Creates the data for the first request: the demo models, an organization with a key, and the manifests' objects. */
async function fillDatabase(
  pool: Pool,
  options: SystemOptions,
  { keyPepper, credentialsKey }: Secrets,
  stops: (() => Promise<unknown>)[],
): Promise<DemoAccount> {
  const { dataDir, openingBalance, tell } = options
  const provider = await startDemoProvider({ port: 0 })
  stops.push(() => provider.stop())
  const prices = await putDemoCatalog(pool, provider.url)
  const account = await readOrMakeDemoAccount(pool, { dataDir, keyPepper, balance: openingBalance })
  const { organizationId, freshKeyId } = account
  if (freshKeyId !== undefined) await writeDemoHistory(pool, { organizationId, keyId: freshKeyId }, prices)
  const manifests = await followManifests({
    pool,
    dataDir,
    keyPepper,
    sealingKeys: [Buffer.from(credentialsKey, 'base64')],
    openingBalance,
    folder: options.manifestsFolder,
    environment: options.environment,
    tell,
    onKeySecret: (name, secret) => tell(`API key ${name}: ${secret}`),
  })
  stops.push(() => manifests.stop())
  return account
}

async function openDatabase(options: SystemOptions, stops: (() => Promise<unknown>)[]): Promise<string> {
  if (options.databaseUrl !== undefined) return options.databaseUrl
  options.say('Starting Postgres')
  const postgres = await startEmbeddedPostgres({
    dataDir: join(options.dataDir, 'postgres'),
    durability: 'safe',
  })
  stops.push(() => postgres.stop())
  return postgres.url
}

/** `undefined`: your own Redis is used. */
async function findServer({ redisUrl, say }: SystemOptions): Promise<string | undefined> {
  return redisUrl === undefined ? findRedisServer(say) : undefined
}

async function openRedis(
  options: SystemOptions,
  server: string | undefined,
  databaseId: string,
  secrets: Secrets,
  stops: (() => Promise<unknown>)[],
): Promise<RedisUrls> {
  const { redisUrl } = options
  if (redisUrl !== undefined) {
    await claimRedis(redisUrl, databaseId)
    return { everything: redisUrl, gateway: redisUrl, worker: redisUrl, cabinet: redisUrl }
  }
  options.say('Starting Redis')
  const gateway = { user: gatewayRedisUser, password: secrets.redisGatewayPassword }
  const worker = { user: workerRedisUser, password: secrets.redisWorkerPassword }
  const cabinet = { user: cabinetRedisUser, password: secrets.redisCabinetPassword }
  const redis = await startRedis({
    dataDir: join(options.dataDir, 'redis'),
    password: secrets.redisPassword,
    logins: [gateway, worker, cabinet],
    ...(server === undefined ? {} : { server }),
  })
  stops.push(() => redis.stop())
  return {
    everything: redis.url,
    gateway: redisUrlAs(gateway, redis.url),
    worker: redisUrlAs(worker, redis.url),
    cabinet: redisUrlAs(cabinet, redis.url),
  }
}

/** Shards open in parts: the demo key's shard may be open before another organization's. */
async function waitUntilOpen(redisUrl: string): Promise<void> {
  const redis = connectRedis(redisUrl, { name: 'model-gateway-standalone' })
  try {
    await redis.connected(readyWithinMs)
    await waitUntil(async () => {
      const backlog = await readBacklog(redis).catch((error: unknown) => {
        if (!(error instanceof RedisUnavailable)) throw error // Redis is busy: retry
      })
      return backlog?.shutShardCount === 0
        ? undefined
        : `shards that are not open: ${backlog?.shutShardCount ?? 'unknown'}`
    })
  } finally {
    redis.close()
  }
}

/** Requests an unknown model. A 404 means that key, balance and catalog are all loaded. */
async function waitUntilServing(baseUrl: string, apiKey: string): Promise<void> {
  await waitUntil(async () => {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo/none', messages: [{ role: 'user', content: 'ready?' }] }),
    })
    return response.status === 503 ? response.text() : undefined
  })
}

/** @throws Error naming what is missing after the timeout. */
async function waitUntil(findMissing: () => Promise<string | undefined>): Promise<void> {
  const giveUpAtMs = performance.now() + readyWithinMs
  for (;;) {
    const missing = await findMissing()
    if (missing === undefined) return
    if (performance.now() > giveUpAtMs)
      throw new Error(`The system was not ready within ${readyWithinMs / 1000} s: ${missing}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
