import type { AttemptDeps } from '../exchange/call-target.ts'
import { noteDropped } from '../exchange/call-target.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { PlainJob } from '../exchange/plain-attempt.ts'
import type { Run } from '../exchange/run.ts'
import type { Target } from '../routing/attempt-plan.ts'
import { adaptEmbeddingRequest, findDroppedOfEmbedding } from '../upstream/embedding-request.ts'
import { writeJson } from '../wire/json-writer.ts'
import { whenDone } from '../wire/turns.ts'
import { type Embedding, readEmbeddings, sumUsage, writeEmbeddings } from './internal/embedding-answer.ts'
import { promptOf } from './internal/input-prompt.ts'

type EmbeddingExchange = Extract<Exchange, { readonly endpoint: 'embeddings' }>

/** As many calls as the provider's limit of items makes necessary; together they are the answer, in the order asked. */
export function embeddingsJob(
  deps: AttemptDeps,
  { run, exchange }: { readonly run: Run; readonly exchange: EmbeddingExchange },
  target: Target,
): PlainJob {
  const { dialect, provider } = target.backend
  const { secrets } = provider
  const { request } = exchange
  const { encoding_format: format = 'float' } = request
  const items = itemsFor(exchange, target)
  const { batchMax } = dialect.quirks.embeddings
  const itemsOf = (call: number) => items.slice(call * batchMax, (call + 1) * batchMax)
  noteDropped(deps, run, target, findDroppedOfEmbedding(request, dialect))
  run.outputLimit = null
  run.outputTokensMax = null
  const embeddings: (readonly Embedding[])[] = []
  const promptTokens: unknown[] = []
  return {
    callCount: Math.ceil(items.length / batchMax),
    inputsPerCall: batchMax,
    bodyOf(call) {
      const json = adaptEmbeddingRequest({ body: request, items: itemsOf(call), format, dialect })
      return whenDone(writeJson(json, exchange.bodyBytes), (bytes) => ({ bytes }))
    },
    partOf(calls) {
      const usage = sumUsage(calls.map((call) => promptTokens[call]))
      const counted = usage.kind === 'reported' ? [] : calls.filter((call) => isCounted(promptTokens[call]))
      const estimated = calls.filter((call) => !counted.includes(call))
      const parts = estimated.map((call) => ({ from: call * batchMax, to: (call + 1) * batchMax }))
      const countedTokens = counted.reduce((sum, call) => sum + Number(promptTokens[call]), 0)
      return { prompt: promptOf(exchange, { parts, countedTokens }), usage }
    },
    accept(text, call) {
      const read = readEmbeddings(dialect.adapter.embeddings, text, {
        count: itemsOf(call).length,
        format,
        secrets,
      })
      if (read.kind === 'bad_answer') return read.failure
      embeddings[call] = read.embeddings
      promptTokens[call] = read.promptTokens
      return undefined
    },
    finish() {
      const { model } = target.route.document
      const answer = {
        generated: { output: '', reasoning: '' },
        write: (usage: { readonly prompt_tokens: number }) =>
          writeEmbeddings({ embeddings: embeddings.flat(), model, promptTokens: usage.prompt_tokens }),
      }
      return { kind: 'plain', answer, usage: sumUsage(promptTokens) }
    },
  }
}

function isCounted(promptTokens: unknown): boolean {
  return sumUsage([promptTokens]).kind === 'reported'
}

/** Tokens where the provider takes them, else the texts that they are. */
function itemsFor({ inputs, texts }: EmbeddingExchange, { backend }: Target): readonly unknown[] {
  return backend.dialect.quirks.embeddings.tokens === 'no' && texts !== null ? texts : inputs.items
}
