import type { RequestRecord } from '#core/ledger/request-record'
import { wideHistogram } from './wide-histogram.ts'

/*
 * OpenTelemetry's names for the metrics of a client of models (semantic conventions for generative AI, client
 * metrics), as they are called in Prometheus. Dots are underscores, and the unit is a suffix unless it is a
 * mere note (`{token}`).
 */

/** Both as the conventions advise: tokens of one call, and seconds. */
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power)
const secondsBuckets = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power)

/** Limit of models with their own label: the first of the catalog by name. */
const namedModelsMax = 200
/** The label of all others. No model is called so: each has a provider in its name. */
const otherModels = 'other'

const callLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const

/** Tokens, durations and first chunks by provider and model, both as the catalog names them. */
export function createGenAiMetrics() {
  const tokens = wideHistogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens charged for a request, by type: input or output.',
    labelNames: [...callLabels, 'gen_ai_token_type'],
    buckets: tokenBuckets,
  })
  const seconds = wideHistogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Duration of a call to a provider, to the end of its response; error_type is the kind of failure.',
    labelNames: [...callLabels, 'error_type'],
    buckets: secondsBuckets,
  })
  const firstChunkSeconds = wideHistogram({
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'Time from a call to a provider to the first content of its stream.',
    labelNames: callLabels,
    buckets: secondsBuckets,
  })
  const all = [tokens, seconds, firstChunkSeconds] as const
  let named: ReadonlySet<string> = new Set()

  const labelsOf = (endpoint: RequestRecord['endpoint'], provider: string, model: string) => ({
    gen_ai_operation_name: endpoint,
    gen_ai_provider_name: provider,
    gen_ai_request_model: named.has(model) ? model : otherModels,
  })

  return {
    all,
    /** In Prometheus's text format. */
    text: () => all.map((histogram) => histogram.text()).join(''),
    /** Takes the models of another catalog. Series of models that are named no more go. */
    follow(models: readonly string[]): void {
      named = new Set(models.toSorted().slice(0, namedModelsMax))
      const isGone = ({ gen_ai_request_model: model }: { readonly gen_ai_request_model: string }) =>
        model !== otherModels && !named.has(model)
      for (const histogram of all) histogram.forget(isGone)
    },
    count(
      { endpoint, attempts, modelRan, tokens: charged }: RequestRecord,
      firstChunkMs: number | undefined,
    ) {
      for (const { model, provider, result, ms } of attempts)
        seconds.observe(
          { ...labelsOf(endpoint, provider, model), error_type: result === 'answered' ? '' : result },
          ms / 1000,
        )
      const ran = attempts.findLast(({ model }) => model === modelRan)
      if (ran === undefined) return
      const labels = labelsOf(endpoint, ran.provider, ran.model)
      const input = charged.input + charged.cachedInput + charged.cacheWrite
      const output = charged.output + charged.reasoning
      if (input > 0) tokens.observe({ ...labels, gen_ai_token_type: 'input' }, input)
      if (output > 0) tokens.observe({ ...labels, gen_ai_token_type: 'output' }, output)
      if (firstChunkMs !== undefined) firstChunkSeconds.observe(labels, firstChunkMs / 1000)
    },
  }
}
