import { randomUUID } from 'node:crypto'
import { createAddressGuard } from '#core/catalog/address-guard'
import { createCallerPlace } from '#core/keys/caller-place'
import { requireCopiedPepper } from '#core/keys/pepper-copy'
import { startAdminServer } from '#core/process/admin-server'
import { listeningPort } from '#core/process/listening-port'
import type { Log } from '#core/process/log'
import { createNetworks } from '#core/process/networks'
import { createNoteOutage } from '#core/process/outage-note'
import { openRedis } from '#core/redis/open-redis'
import { type RedisServers, RedisUnavailable } from '#core/redis/redis-connection'
import { buildApp } from './app.ts'
import { createAttempt } from './attempt.ts'
import type { ChargeKeeper } from './charges/charge-keeper.ts'
import { openShards } from './charges/open-shards.ts'
import type { Config } from './config.ts'
import { createAbandonedRequests } from './exchange/abandoned-requests.ts'
import { createBilling, type OverrunNote } from './exchange/billing.ts'
import { createComplete } from './exchange/complete.ts'
import type { CompleteExchange } from './exchange/exchange.ts'
import { createOutputLimit, type OutputLimit } from './exchange/output-limit.ts'
import { startHealthChecks } from './health-checks/health-checks.ts'
import { readConnectionCap } from './http/connection-cap.ts'
import { createConnectionShare } from './http/connection-share.ts'
import { createHeldBodies, type HeldBodies } from './http/held-bodies.ts'
import { trackConnections } from './http/open-connections.ts'
import type { WriteRequestLine } from './http/request-end.ts'
import { createImageFetcher } from './images/fetch-images.ts'
import {
  countDropped,
  countEstimate,
  countSkipped,
  createMetrics,
  followModels,
  type GatewayMetrics,
  shownMetrics,
  watchAbandoned,
  watchGate,
  watchWaitingResponses,
} from './metrics/metrics.ts'
import { createReceiptSource } from './receipts/receipt-source.ts'
import { createResponseStore } from './response-store/response-store.ts'
import { type AttemptGate, createAttemptGate } from './routing/attempt-gate.ts'
import { healthReportOf } from './routing/health-report.ts'
import { createRouteTableReader } from './routing/read-route-table.ts'
import { type RouteWatch, type RouteWatchOptions, watchRoutes } from './routing/watch-routes.ts'
import { createPromptMeasurer } from './tokens/prompt-measurer.ts'
import { createTokenCounter, startTokenThread } from './tokens/token-counter.ts'
import { createTokenDecoder } from './tokens/token-decoder.ts'
import { createProviderAgents } from './upstream/provider-agents.ts'
import { createProviderCalls } from './upstream/provider-call.ts'

export type Gateway = {
  readonly port: number
  readonly adminPort: number
  /** Takes no new connections, finishes requests in progress, and closes everything. Answers may take their 10 minutes. */
  stop(): Promise<void>
}

/** Timeout for reading a catalog of 10,000 routes; requests never wait for it. */
const catalogTimeoutMs = 5_000
/** Silence after which a stream gets a keep-alive comment: below the idle timeouts of common load balancers. */
const keepAliveMs = 15_000
/** How long usage is waited for once a provider's content is complete. */
const usageGraceMs = 2_000
/** How long a stopping gateway waits for Postgres to have its charges, once Redis has them. */
const flushMs = 5_000

/**
 * Starts a gateway: config → Redis → routes → app → listen. Redis need not be available yet; until it is,
 * responses are 503.
 *
 * @param writeRequestLine where request lines are written instead of `log`.
 * @throws PepperMismatch if Redis shows that the keys were hashed with another pepper.
 */
export async function startGateway(
  config: Config,
  log: Log,
  writeRequestLine: WriteRequestLine = (line) => log.info(line, 'request'),
): Promise<Gateway> {
  const metrics = createMetrics()
  const now = () => performance.now()
  const noting = { metrics, log, now }
  const noteOutage = createOutageNote(log)
  const catalog = await connectCatalog(config, noteOutage)
  const instanceId = config.instance ?? randomUUID()
  const tokens = createTokenThreads(config.tokenCountTimeoutMs, metrics, log)
  const liveGateways = () => routes.liveGateways()
  const held = createHeldBodies(config.http.heldBodyBytesMax, config.http.bodyBytesMax)
  const providers = openProviders(config, { ...tokens, liveGateways, held, now, metrics, log })
  const routes = watchCatalog(config, {
    redis: catalog,
    instanceId,
    gate: providers.gate,
    metrics,
    log,
    onError: noteOutage,
  })
  const checks = checkHealth(config, { instanceId, routes, providers, metrics, log, now })
  const shards = openShards(config, { catalog, now, metrics, log, onUnavailable: noteOutage })
  const { admission, keeper } = shards
  const connectionsMax = readConnectionCap(config.http.connectionsMax)
  const share = createConnectionShare(connectionsMax)
  const abandoned = watchedAbandoned(connectionsMax, config.http.heldBodyBytesMax, metrics)
  const serving = { admission, keeper, share, abandoned, now, random: Math.random }
  const exchanges = trackExchanges(createComplete({ ...serving, ...tokens, ...providers }))
  const cabinet = openCabinet(config, noting)
  const app = buildApp({
    ...httpSettingsOf(config),
    sealingKeys: config.catalogKeys.sealingKeys,
    admission,
    share,
    held,
    routes: routes.current,
    completeExchange: exchanges.completeExchange,
    calls: providers.calls,
    ...tokens,
    ...cabinet,
    ...noting,
    writeRequestLine,
  })
  app.server.maxConnections = connectionsMax
  const connections = trackConnections(app.server)
  let isDraining = false
  const admin = await startAdmin(config, metrics, () => (isDraining ? 'draining' : whyNotReady(routes)))
  await app.listen({ host: config.host, port: config.port })
  return {
    port: listeningPort(app.server),
    adminPort: admin.port,
    async stop() {
      isDraining = true
      checks.stop()
      routes.leave()
      await connections.drain(app.close(), config.http.requestTimeoutMs)
      await exchanges.finished()
      await flushCharges(keeper, log)
      shards.close()
      await routes.stop()
      await Promise.all([providers.close(), tokens.stop(), cabinet.close()])
      catalog.close()
      await admin.stop()
    },
  }
}

/** How callers are found, by their keys, what they may take, and where their errors are explained. */
function httpSettingsOf({ http, keyPepper, trustedProxies, publicCabinetUrl }: Config) {
  return { http, keyPepper, trustedProxies: createNetworks(trustedProxies), publicCabinetUrl }
}

/** What the cabinet has for gateways; nothing if there is none. */
function openCabinet(
  { cabinetUrl, keyPepper, catalogKeys: { sealingKeys } }: Config,
  { metrics, log, now }: Pick<ProvidersDeps, 'metrics' | 'log' | 'now'>,
) {
  if (cabinetUrl === undefined)
    return { receipts: undefined, responses: undefined, close: () => Promise.resolve() }
  const noteCabinet = createNoteOutage(log, {
    away: 'failed to store or read a response at the cabinet',
    back: 'stored responses are available again',
  })
  const receipts = createReceiptSource(cabinetUrl, createCallerPlace(keyPepper))
  const responses = createResponseStore({
    cabinetUrl,
    keyPepper,
    sealingKeys,
    note: (result) => metrics.responsesStored.inc({ result }),
    noteCabinet: (cause) =>
      cause === undefined ? noteCabinet('answers', {}) : noteCabinet('is unavailable', { err: cause }),
    now,
  })
  watchWaitingResponses(metrics, responses.waitingBytes)
  return {
    receipts,
    responses,
    async close() {
      await Promise.all([receipts.close(), responses.close()])
    },
  }
}

/** @throws PepperMismatch */
async function connectCatalog(
  config: Config,
  onUnavailable: (error: unknown) => void,
): Promise<RedisServers> {
  const catalog = openRedis(config.redisUrls, {
    name: 'model-gateway-routes',
    timeoutMs: catalogTimeoutMs,
    onError: () => {}, // the other connections have reported it
  })
  await requireCopiedPepper(catalog, config.keyPepper, onUnavailable).catch((mismatch: unknown) => {
    catalog.close()
    throw mismatch
  })
  return catalog
}

function startAdmin(config: Config, metrics: GatewayMetrics, notReady: () => string | undefined) {
  const { host, adminPort } = config
  return startAdminServer({ host, port: adminPort, registry: shownMetrics(metrics), notReady })
}

/** Not while Redis is down: every replica would leave the load balancer, and clients would get its bare error, no 503 with Retry-After. */
function whyNotReady(routes: Pick<RouteWatch, 'current'>): string | undefined {
  return routes.current() === undefined ? 'no readable catalog' : undefined
}

async function flushCharges(keeper: ChargeKeeper, log: Log): Promise<void> {
  const unacknowledged = keeper.unacknowledgedCount()
  if (unacknowledged > 0)
    log.warn(
      { unacknowledged },
      'waiting for Redis to acknowledge charges: they are lost if this process is killed now',
    )
  const unposted = await keeper.flush(flushMs)
  if (unposted > 0)
    log.warn({ unposted }, 'stopping before every charge is in Postgres: the rest are safe in Redis')
}

function createOutageNote(log: Log) {
  return (error: unknown) => {
    if (error instanceof RedisUnavailable) log.debug({ err: error }, 'Redis is unavailable')
    else log.error({ err: error }, 'Redis command failed')
  }
}

function watchCatalog(
  config: Config,
  deps: Pick<RouteWatchOptions, 'redis' | 'instanceId' | 'onError'> & {
    readonly gate: AttemptGate
    readonly metrics: GatewayMetrics
    readonly log: Log
  },
): RouteWatch {
  const { gate, metrics, log, ...rest } = deps
  return watchRoutes({
    ...rest,
    read: createRouteTableReader(config.catalogKeys, (document, why) => {
      metrics.routeDocumentsRejected.inc()
      log.error({ document, why }, 'catalog document rejected')
    }),
    health: () => healthReportOf(gate.deployments(), gate.providers()),
    onTable: (table) => {
      const { revision } = table
      gate.follow(table)
      metrics.routesRevision.set(Number(revision))
      followModels(
        metrics,
        table.routes.map(({ document }) => document.model),
      )
      log.info({ revision }, 'serving a new catalog')
    },
    nowMs: Date.now,
  })
}

type ProvidersDeps = {
  readonly liveGateways: () => number
  readonly outputLimit: OutputLimit
  readonly held: HeldBodies
  readonly now: () => number
  readonly metrics: GatewayMetrics
  readonly log: Log
}

/** Everything that reaches providers: connections, attempts over them, and the gate before those. */
function openProviders(config: Config, deps: ProvidersDeps) {
  const agents = createProviderAgents(createAddressGuard(config.upstreamAllowedCidrs), {
    proxyUrl: config.upstreamProxyUrl,
  })
  const calls = createProviderCalls(agents)
  const attempt = createAttempt({
    calls,
    now: deps.now,
    connectMs: config.upstreamConnectMs,
    keepAliveMs,
    usageGraceMs,
    outputLimit: deps.outputLimit,
    images: { fetcher: createImageFetcher(), held: deps.held },
    noteDropped: (provider, parameters) => countDropped(deps.metrics, provider, parameters),
    noteServerTools(provider, tools) {
      for (const tool of tools) deps.metrics.serverToolsRun.inc({ provider, tool })
    },
  })
  return { attempt, calls, gate: openGate(deps), close: calls.close }
}

/** Checks the providers that ask for it. */
function checkHealth(
  config: Config,
  deps: {
    readonly instanceId: string
    readonly routes: Pick<RouteWatch, 'current' | 'gateways'>
    readonly providers: Pick<ReturnType<typeof openProviders>, 'calls' | 'gate'>
    readonly metrics: GatewayMetrics
    readonly log: Log
    readonly now: () => number
  },
) {
  const { routes, providers, metrics, log } = deps
  return startHealthChecks({
    ...providers,
    table: routes.current,
    gateways: routes.gateways,
    instanceId: deps.instanceId,
    connectMs: config.upstreamConnectMs,
    onChecked(provider, result) {
      metrics.healthChecks.inc({ provider, result })
      if (result !== 'listed') log.warn({ provider, result }, 'a provider did not list its models')
    },
    onCrash: (error) => log.error({ err: error }, 'a health check crashed'),
    nowMs: deps.now,
    random: Math.random,
  })
}

/** The gate to backends, reported in the metrics and the log. */
function openGate({ liveGateways, now, metrics, log }: ProvidersDeps): AttemptGate {
  const gate = createAttemptGate({
    nowMs: now,
    liveGateways,
    onClosed: (provider, why) => countSkipped(metrics, provider, why),
    onChange: ({ provider, name, dialect }, change) => {
      const backend = { provider: provider.name, backend: name, model: dialect.model }
      if (change === 'cooldown')
        log.warn(backend, 'deployment is cooling down: it failed too often or asked for a pause')
      else log.info(backend, 'deployment is healthy again')
    },
  })
  watchGate(metrics, gate.deployments)
  return gate
}

/** Requests without clients may take a quarter of what this gateway serves at a time. */
function watchedAbandoned(requestsMax: number, bodyBytesMax: number, metrics: GatewayMetrics) {
  const abandoned = createAbandonedRequests({ requestsMax, bodyBytesMax })
  watchAbandoned(metrics, abandoned.count)
  return abandoned
}

/** Everything that works with tokens off the event loop; each thread starts when it is first needed. */
function createTokenThreads(timeoutMs: number, metrics: GatewayMetrics, log: Log) {
  const { counter, bill } = createBiller(timeoutMs, metrics, log)
  const decoder = createTokenDecoder((error) => log.error({ err: error }, 'token decoder thread crashed'))
  const measurer = createPromptMeasurer((error) =>
    log.error({ err: error }, 'prompt measurer thread crashed'),
  )
  const stop = () => Promise.all([counter.stop(), decoder.stop(), measurer.stop()])
  return { bill, outputLimit: createOutputLimit(counter), decoder, measurer, stop }
}

/** Makes bills. Tokens of estimated ones are counted by a thread, and reported. */
function createBiller(timeoutMs: number, metrics: GatewayMetrics, log: Log) {
  const counter = createTokenCounter({
    startThread: startTokenThread,
    timeoutMs,
    onError: (error) => log.error({ err: error }, 'token counter thread crashed'),
  })
  const bill = createBilling({
    counter,
    note(estimate) {
      countEstimate(metrics, estimate)
      if (estimate.reason === 'untrusted')
        log.warn(estimate, 'provider reported impossible usage: tokens are estimated instead')
    },
    noteOverrun(overrun) {
      metrics.holdOverruns.inc({ cause: overrun.cause })
      log.warn(overrun, overrunWords[overrun.cause])
    },
  })
  return { counter, bill }
}

const overrunWords = {
  prompt: 'provider counted more prompt tokens than the request can have: the rest is not charged',
  output: 'provider exceeded the output limit: the rest is not charged',
} as const satisfies Record<OverrunNote['cause'], string>

/**
 * Tracks exchanges in progress: one whose client has disconnected has no connection, but still a charge to
 * post.
 */
function trackExchanges(completeExchange: CompleteExchange): {
  completeExchange: CompleteExchange
  /** Resolves once none runs. */
  finished(): Promise<void>
} {
  let runningCount = 0
  let noteNone: () => void = () => undefined
  return {
    async completeExchange(exchange) {
      runningCount += 1
      try {
        return await completeExchange(exchange)
      } finally {
        runningCount -= 1
        if (runningCount === 0) noteNone()
      }
    },
    finished: () =>
      new Promise((resolve) => {
        noteNone = resolve
        if (runningCount === 0) resolve()
      }),
  }
}
