import { Counter, Gauge, type Registry } from 'prom-client'
import type { RequestRecord } from '#core/ledger/request-record'
import { createProcessRegistry } from '#core/process/process-registry'
import type { OnScript } from '#core/redis/redis-connection'
import { parameterLabelOf } from '../wire/openai-parameters.ts'
import { gatheredCounter, gatheredHistogram } from './internal/gathered-metrics.ts'
import { createGenAiMetrics } from './internal/gen-ai-metrics.ts'

/** Seconds, from an error to the 10 minutes that a request may take. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
/** Seconds that the gateway adds itself. */
const overheadBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
/** Seconds of a script, up to its time-out of 100 ms. */
const scriptBuckets = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1]

export type GatewayMetrics = ReturnType<typeof createMetrics>

/**
 * Every metric of the gateway, in a separate registry. Labels have a closed set of values: never a key, an
 * organization or a request. Only OpenTelemetry's metrics have models as labels, as named in the catalog.
 */
export function createMetrics() {
  const registry = createProcessRegistry()
  const registers = [registry]
  return {
    registry,
    /** `outcome`: a record's outcome, `refused` or `crashed`; `stream`: yes, no, unknown. */
    requests: gatheredCounter({
      name: 'model_gateway_requests_total',
      help: 'Responses, by outcome.',
      labelNames: ['outcome', 'status_class', 'stream'],
      registers,
    }),
    requestSeconds: gatheredHistogram({
      name: 'model_gateway_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its response.',
      labelNames: ['stream'],
      buckets: requestBuckets,
      registers,
    }),
    overheadSeconds: gatheredHistogram({
      name: 'model_gateway_overhead_seconds',
      help: 'Time added by the gateway: from the last byte of a request, without waiting for providers.',
      labelNames: [],
      buckets: overheadBuckets,
      registers,
    }),
    firstContentSeconds: gatheredHistogram({
      name: 'model_gateway_first_content_seconds',
      help: 'Time from the last byte of a request to the first content of its response.',
      labelNames: [],
      buckets: requestBuckets,
      registers,
    }),
    refusals: new Counter({
      name: 'model_gateway_rejections_total',
      help: 'Error responses, by error code.',
      labelNames: ['code'],
      registers,
    }),
    genAi: createGenAiMetrics(),
    ...upstreamMetrics(registers),
    ...estimateMetrics(registers),
    ...redisMetrics(registers),
    /** `result`: stored, too_large, busy, unavailable, late, rejected. */
    responsesStored: new Counter({
      name: 'model_gateway_stored_responses_total',
      help: 'Responses of keys that keep them, by result. All but `stored` are not kept.',
      labelNames: ['result'],
      registers,
    }),
    routesRevision: new Gauge({
      name: 'model_gateway_routes_revision',
      help: 'Revision of the catalog being served.',
      registers,
    }),
    routeDocumentsRejected: new Counter({
      name: 'model_gateway_route_documents_rejected_total',
      help: 'Catalog documents rejected because of their signature, schema or credential.',
      registers,
    }),
  }
}

/** The response to a scrape. */
export function shownMetrics({ registry, genAi }: GatewayMetrics): Pick<Registry, 'metrics' | 'contentType'> {
  return {
    contentType: registry.contentType,
    metrics: async () => (await registry.metrics()) + genAi.text(),
  }
}

/** How Redis answers, and how often it came back as another generation. */
function redisMetrics(registers: Registry[]) {
  return {
    scriptSeconds: gatheredHistogram({
      name: 'model_gateway_redis_script_duration_seconds',
      help: 'Time the gateway waited for one Redis script.',
      labelNames: ['script'],
      buckets: scriptBuckets,
      registers,
    }),
    scriptErrors: new Counter({
      name: 'model_gateway_redis_script_errors_total',
      help: 'Redis scripts that timed out or returned an error.',
      labelNames: ['script'],
      registers,
    }),
    newGenerations: new Counter({
      name: 'model_gateway_shard_resyncs_total',
      help: 'Shard resyncs: after a reconnect, or in a new epoch after data loss.',
      registers,
    }),
    chargesResent: new Counter({
      name: 'model_gateway_charges_resent_total',
      help: 'Buffered charges resent to shards after a resync.',
      registers,
    }),
  }
}

/** Calls to providers, made and skipped, and the tokens they used. */
function upstreamMetrics(registers: Registry[]) {
  return {
    /** `provider`: as the catalog names them; `result`: the closed words of `upstream/failure.ts`. */
    upstreamAttempts: gatheredCounter({
      name: 'model_gateway_upstream_attempts_total',
      help: 'Calls to providers, by result.',
      labelNames: ['provider', 'result'],
      registers,
    }),
    /** `param`: OpenAI's names, and `other` for everything else that callers may send. */
    parametersDropped: new Counter({
      name: 'model_gateway_params_dropped_total',
      help: 'Parameters not sent because the provider or its route does not accept them.',
      labelNames: ['provider', 'param'],
      registers,
    }),
    /** `tool`: as OpenAI names them, and `other` for those that are not known. */
    serverToolsRun: new Counter({
      name: 'model_gateway_server_tools_run_total',
      help: 'Tools that a provider ran and bills itself, although the request was not allowed to use them.',
      labelNames: ['provider', 'tool'],
      registers,
    }),
    /** `why`: asked, resting, rate_limited, retries_spent. */
    attemptsSkipped: new Counter({
      name: 'model_gateway_upstream_attempts_skipped_total',
      help: 'Calls to providers skipped because the deployment is cooling down or a limit is used up.',
      labelNames: ['provider', 'why'],
      registers,
    }),
    /** `provider`: as the catalog names them; `result`: `listed`, or the closed words of `upstream/failure.ts`. */
    healthChecks: new Counter({
      name: 'model_gateway_health_checks_total',
      help: 'Health checks of providers, by result. Each requests the list of models.',
      labelNames: ['provider', 'result'],
      registers,
    }),
    tokens: gatheredCounter({
      name: 'model_gateway_tokens_total',
      help: 'Tokens charged, by class and by who counted them.',
      labelNames: ['class', 'usage_source'],
      registers,
    }),
  }
}

/** Bills that are not based on the provider's own count. */
function estimateMetrics(registers: Registry[]) {
  return {
    /** `reason`: missing, untrusted, client_gone, out_of_time, upstream_cut; `counted_by`: tokenizer, characters. */
    billsEstimated: new Counter({
      name: 'model_gateway_bills_estimated_total',
      help: 'Charges whose tokens the gateway counted itself, by reason and method.',
      labelNames: ['reason', 'counted_by'],
      registers,
    }),
    /** `cause`: prompt, output. */
    holdOverruns: new Counter({
      name: 'model_gateway_hold_overruns_total',
      help: 'Charges limited to the hold, by cause: prompt, output. The rest is the loss of the platform.',
      labelNames: ['cause'],
      registers,
    }),
    usageUntrusted: new Counter({
      name: 'model_gateway_usage_untrusted_total',
      help: 'Impossible usage reports: the provider is broken or dishonest.',
      labelNames: ['provider'],
      registers,
    }),
  }
}

/** Counts a bill that was estimated. */
export function countEstimate(
  metrics: GatewayMetrics,
  estimate: { readonly reason: string; readonly countedBy: string; readonly provider: string },
): void {
  const { reason, countedBy, provider } = estimate
  metrics.billsEstimated.inc({ reason, counted_by: countedBy })
  if (reason === 'untrusted') metrics.usageUntrusted.inc({ provider })
}

/**
 * Counts the attempts, tokens and first content in the record of one admitted request.
 *
 * @param firstChunkMs from the call that was answered to its first content; of a stream.
 */
export function countRecord(
  metrics: GatewayMetrics,
  record: RequestRecord,
  firstChunkMs: number | undefined,
): void {
  metrics.genAi.count(record, firstChunkMs)
  for (const { provider, result } of record.attempts) metrics.upstreamAttempts.inc({ provider, result })
  for (const tokenClass of tokenClasses) {
    const count = record.tokens[tokenClass]
    if (count > 0) metrics.tokens.inc({ class: tokenClass, usage_source: record.usageSource }, count)
  }
  if (record.firstContentMs !== null) metrics.firstContentSeconds.observe({}, record.firstContentMs / 1000)
}

const tokenClasses = ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'] as const

/** Models that may be named from now on: those of the catalog that is served. */
export function followModels(metrics: GatewayMetrics, models: readonly string[]): void {
  metrics.genAi.follow(models)
}

/** Counts parameters that one call of a provider was not sent. */
export function countDropped(metrics: GatewayMetrics, provider: string, parameters: readonly string[]): void {
  for (const parameter of parameters)
    metrics.parametersDropped.inc({ provider, param: parameterLabelOf(parameter) })
}

/** Counts an attempt that the gate did not let through. A cooldown keeps the label that dashboards use. */
export function countSkipped(metrics: GatewayMetrics, provider: string, why: string): void {
  metrics.attemptsSkipped.inc({ provider, why: why === 'cooling_down' ? 'resting' : why })
}

/** Watches at each scrape how many requests are being answered. */
export function watchOpen(metrics: GatewayMetrics, count: () => number): void {
  watch(metrics, 'requests_in_flight', 'Requests in progress.', count)
}

/** Watches at each scrape how much of the bodies of requests is in memory. */
export function watchBodies(metrics: GatewayMetrics, heldBytes: () => number): void {
  watch(metrics, 'held_body_bytes', 'Bytes of request bodies in memory.', heldBytes)
}

/** Watches at each scrape how much waits to be stored. */
export function watchWaitingResponses(metrics: GatewayMetrics, bytes: () => number): void {
  watch(metrics, 'stored_response_waiting_bytes', 'Bytes of responses that wait to be stored.', bytes)
}

/** Watches at each scrape how many answers are read without their clients. */
export function watchAbandoned(metrics: GatewayMetrics, count: () => number): void {
  watch(
    metrics,
    'abandoned_requests',
    'Requests whose clients disconnected and whose responses are still read.',
    count,
  )
}

/** Reads the numbers of the charge buffer at each scrape. */
export function watchKeeper(
  metrics: GatewayMetrics,
  state: () => { readonly open: number; readonly kept: number; readonly oldestKeptAtMs: number | undefined },
  now: () => number,
): void {
  const ageMs = () => now() - (state().oldestKeptAtMs ?? now())
  watch(metrics, 'open_holds', 'Holds renewed by this replica.', () => state().open)
  watch(
    metrics,
    'buffered_charges',
    'Charges buffered in memory until Postgres has them.',
    () => state().kept,
  )
  watch(metrics, 'buffered_charge_age_seconds', 'Age of the oldest buffered charge.', () => ageMs() / 1000)
}

/** Watches at each scrape the states of Redis in which nothing is admitted. */
export function watchRedis(
  metrics: GatewayMetrics,
  redis: {
    readonly circuitIsOpen: () => boolean
    readonly isNearlyFull: () => boolean
    readonly mayEvict: () => boolean
    readonly keepsNoFile: () => boolean
  },
): void {
  watch(metrics, 'redis_circuit_open', '1 if Redis does not respond and is only probed.', () =>
    Number(redis.circuitIsOpen()),
  )
  watch(
    metrics,
    'redis_nearly_full',
    '1 if Redis uses 85 % of its maxmemory; no requests are admitted.',
    () => Number(redis.isNearlyFull()),
  )
  watch(
    metrics,
    'redis_may_evict',
    '1 if Redis evicts data when full; set maxmemory-policy to noeviction.',
    () => Number(redis.mayEvict()),
  )
  watch(
    metrics,
    'redis_keeps_no_file',
    '1 if Redis has no append-only file and loses its data in a restart; set appendonly to yes.',
    () => Number(redis.keepsNoFile()),
  )
}

function watch({ registry }: GatewayMetrics, name: string, help: string, read: () => number): void {
  const gauge: Gauge = new Gauge({
    name: `model_gateway_${name}`,
    help,
    registers: [registry],
    collect: () => gauge.set(read()),
  })
}

/** Watches at each scrape which providers have deployments that are cooling down. */
export function watchGate(
  metrics: GatewayMetrics,
  deployments: () => readonly { readonly provider: string; readonly isRecovering: boolean }[],
): void {
  const gauge: Gauge<'provider'> = new Gauge({
    name: 'model_gateway_backends_cooling_down',
    help: 'Deployments cooling down: they failed too often or asked for a pause, and have not recovered.',
    labelNames: ['provider'],
    registers: [metrics.registry],
    collect() {
      gauge.reset()
      for (const { provider, isRecovering } of deployments()) gauge.inc({ provider }, isRecovering ? 1 : 0)
    },
  })
}

/** Notes how the scripts of a connection end. */
export function watchScripts(metrics: GatewayMetrics): OnScript {
  return (script, end, ms) => {
    metrics.scriptSeconds.observe({ script: script.label }, ms / 1000)
    if (end === 'failed') metrics.scriptErrors.inc({ script: script.label })
  }
}
