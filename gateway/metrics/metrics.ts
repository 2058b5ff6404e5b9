import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { RequestRecord } from '#cabinet/ledger/request-record'
import type { OnScript } from '#cabinet/redis/redis-connection'
import { parameterLabelOf } from '../wire/openai-parameters.ts'
import { gatheredCounter, gatheredHistogram } from './internal/gathered-metrics.ts'

/** Seconds, from an error to the 10 minutes that a request may take. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
/** Seconds that the gateway adds itself. */
const overheadBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
/** Seconds of a script, up to its time-out of 100 ms. */
const scriptBuckets = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1]

export type GatewayMetrics = ReturnType<typeof createMetrics>

/**
 * Every metric of the gateway, in a registry of its own. Labels have a closed set of values: never a key, an
 * organization, a model or a request.
 */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    /** `outcome`: a record's outcome, `refused` or `crashed`; `stream`: yes, no, unknown. */
    requests: gatheredCounter({
      name: 'model_gateway_requests_total',
      help: 'Requests answered, by how they ended.',
      labelNames: ['outcome', 'status_class', 'stream'],
      registers,
    }),
    requestSeconds: gatheredHistogram({
      name: 'model_gateway_request_duration_seconds',
      help: 'From the headers of a request to the end of its answer.',
      labelNames: ['stream'],
      buckets: requestBuckets,
      registers,
    }),
    overheadSeconds: gatheredHistogram({
      name: 'model_gateway_overhead_seconds',
      help: 'Time of a request, from its last byte on, that was not spent waiting for a provider.',
      labelNames: [],
      buckets: overheadBuckets,
      registers,
    }),
    firstContentSeconds: gatheredHistogram({
      name: 'model_gateway_first_content_seconds',
      help: 'From the last byte of a request to the first content of its answer.',
      labelNames: [],
      buckets: requestBuckets,
      registers,
    }),
    refusals: new Counter({
      name: 'model_gateway_refusals_total',
      help: 'Error answers, by code.',
      labelNames: ['code'],
      registers,
    }),
    ...upstreamMetrics(registers),
    ...estimateMetrics(registers),
    ...redisMetrics(registers),
    routesRevision: new Gauge({
      name: 'model_gateway_routes_revision',
      help: 'Revision of the catalogue that is served.',
      registers,
    }),
    routeDocumentsRejected: new Counter({
      name: 'model_gateway_route_documents_rejected_total',
      help: 'Catalogue documents left out: signature, schema or credential.',
      registers,
    }),
  }
}

/** How Redis answers, and how often it came back as another. */
function redisMetrics(registers: Registry[]) {
  return {
    scriptSeconds: gatheredHistogram({
      name: 'model_gateway_redis_script_duration_seconds',
      help: 'Time of one script in Redis, as the gateway waits for it.',
      labelNames: ['script'],
      buckets: scriptBuckets,
      registers,
    }),
    scriptErrors: new Counter({
      name: 'model_gateway_redis_script_errors_total',
      help: 'Scripts that Redis did not answer in time, or answered with an error.',
      labelNames: ['script'],
      registers,
    }),
    newGenerations: new Counter({
      name: 'model_gateway_shard_pasts_total',
      help: 'Shards that came back with another past: a new connection, or a new epoch after a loss of data.',
      registers,
    }),
    chargesResent: new Counter({
      name: 'model_gateway_charges_resent_total',
      help: 'Kept charges that such shards were sent again.',
      registers,
    }),
  }
}

/** What providers were asked, what they were not, and what they used. */
function upstreamMetrics(registers: Registry[]) {
  return {
    /** `provider`: as the catalogue names them; `result`: the closed words of `upstream/failure.ts`. */
    upstreamAttempts: gatheredCounter({
      name: 'model_gateway_upstream_attempts_total',
      help: 'Calls of providers, by what came of them.',
      labelNames: ['provider', 'result'],
      registers,
    }),
    /** `param`: OpenAI's names, and `other` for everything else that callers may send. */
    parametersDropped: new Counter({
      name: 'model_gateway_params_dropped_total',
      help: 'Parameters that a provider was not sent, because it or its route does not take them.',
      labelNames: ['provider', 'param'],
      registers,
    }),
    /** `why`: asked, resting, rate_limited, retries_spent. */
    attemptsSkipped: new Counter({
      name: 'model_gateway_upstream_attempts_skipped_total',
      help: 'Calls of providers that were not made: the backend rests, or a limit is used up.',
      labelNames: ['provider', 'why'],
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

/** Bills that do not follow a provider's own count. */
function estimateMetrics(registers: Registry[]) {
  return {
    /** `reason`: missing, untrusted, client_gone, upstream_cut; `counted_by`: tokenizer, characters. */
    billsEstimated: new Counter({
      name: 'model_gateway_bills_estimated_total',
      help: 'Bills whose tokens the gateway counted itself, by why and how.',
      labelNames: ['reason', 'counted_by'],
      registers,
    }),
    usageUntrusted: new Counter({
      name: 'model_gateway_usage_untrusted_total',
      help: 'Usage that cannot be true: this provider is broken, or dishonest. Any increase is an alarm.',
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

/** Counts what the record of one admitted request says: attempts, tokens, first content. */
export function countRecord(metrics: GatewayMetrics, record: RequestRecord): void {
  for (const { provider, result } of record.attempts) metrics.upstreamAttempts.inc({ provider, result })
  for (const tokenClass of tokenClasses) {
    const count = record.tokens[tokenClass]
    if (count > 0) metrics.tokens.inc({ class: tokenClass, usage_source: record.usageSource }, count)
  }
  if (record.firstContentMs !== null) metrics.firstContentSeconds.observe({}, record.firstContentMs / 1000)
}

const tokenClasses = ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'] as const

/** Counts parameters that one call of a provider was not sent. */
export function countDropped(metrics: GatewayMetrics, provider: string, parameters: readonly string[]): void {
  for (const parameter of parameters)
    metrics.parametersDropped.inc({ provider, param: parameterLabelOf(parameter) })
}

/** Counts an attempt that the gate did not let through. A cooldown keeps the label that dashboards know it by. */
export function countSkipped(metrics: GatewayMetrics, provider: string, why: string): void {
  metrics.attemptsSkipped.inc({ provider, why: why === 'cooling_down' ? 'resting' : why })
}

/** Watches at each scrape how many requests are being answered. */
export function watchOpen(metrics: GatewayMetrics, count: () => number): void {
  watch(metrics, 'requests_in_flight', 'Requests being answered now.', count)
}

/** Watches at each scrape how much of the bodies of requests is in memory. */
export function watchBodies(metrics: GatewayMetrics, heldBytes: () => number): void {
  watch(metrics, 'held_body_bytes', 'Bodies of requests in memory.', heldBytes)
}

/** Watches the numbers of the charge keeper at each scrape. */
export function watchKeeper(
  metrics: GatewayMetrics,
  state: () => { readonly open: number; readonly kept: number; readonly oldestKeptAtMs: number | undefined },
  now: () => number,
): void {
  const ageMs = () => now() - (state().oldestKeptAtMs ?? now())
  watch(metrics, 'open_holds', 'Holds that this replica renews.', () => state().open)
  watch(metrics, 'kept_charges', 'Charges kept until Postgres has them.', () => state().kept)
  watch(metrics, 'kept_charge_age_seconds', 'Age of the oldest of them.', () => ageMs() / 1000)
}

/** Watches at each scrape why nothing may be admitted. */
export function watchRedis(
  metrics: GatewayMetrics,
  redis: {
    readonly circuitIsOpen: () => boolean
    readonly isNearlyFull: () => boolean
    readonly mayEvict: () => boolean
  },
): void {
  watch(metrics, 'redis_circuit_open', '1: Redis has stopped to answer; it is only probed.', () =>
    Number(redis.circuitIsOpen()),
  )
  watch(metrics, 'redis_nearly_full', '1: Redis uses 85 % of its maxmemory; nothing is admitted.', () =>
    Number(redis.isNearlyFull()),
  )
  watch(metrics, 'redis_may_evict', '1: Redis throws data away once it is full; set noeviction.', () =>
    Number(redis.mayEvict()),
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

/** Watches which providers have backends that rest, at each scrape. */
export function watchGate(
  metrics: GatewayMetrics,
  deployments: () => readonly { readonly provider: string; readonly isRecovering: boolean }[],
): void {
  const gauge: Gauge<'provider'> = new Gauge({
    name: 'model_gateway_backends_resting',
    help: 'Backends that failed too often, or asked to be left alone, and have not answered well since.',
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
