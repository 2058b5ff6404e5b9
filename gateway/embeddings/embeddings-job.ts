import type { AttemptDeps } from '../exchange/call-target.ts'
import { noteDropped } from '../exchange/call-target.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { PlainJob } from '../exchange/plain-attempt.ts'
import type { Run } from '../exchange/run.ts'
import { usageBounds } from '../exchange/usage.ts'
import type { Target } from '../routing/attempt-plan.ts'
import { findDroppedOfEmbedding, writeEmbeddingRequest } from '../upstream/embedding-request.ts'
import { type Embedding, readEmbeddings, sumUsage, writeEmbeddings } from './embedding-answer.ts'

type EmbeddingExchange = Extract<Exchange, { readonly endpoint: 'embeddings' }>

/** As many calls as the provider's limit of items makes necessary; together they are the answer, in the order asked. */
export function embeddingsJob(
  deps: AttemptDeps,
  { run, exchange }: { readonly run: Run; readonly exchange: EmbeddingExchange },
  target: Target,
): PlainJob {
  const { dialect } = target.backend
  const { request } = exchange
  const { encoding_format: format = 'float' } = request
  const batches = inBatches(itemsFor(exchange, target), dialect.quirks.embeddings.batchMax)
  noteDropped(deps, run, target, findDroppedOfEmbedding(request, dialect))
  run.outputTokensMax = null
  const embeddings: (readonly Embedding[])[] = []
  const promptTokens: unknown[] = []
  return {
    bodies: batches.map((items) => writeEmbeddingRequest({ body: request, items, format, dialect })),
    accept(text, call) {
      const read = readEmbeddings(text, { count: batches[call]?.length ?? 0, format })
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
      return { kind: 'plain', answer, usage: sumUsage(promptTokens, boundsOf(exchange)) }
    },
  }
}

/** Tokens where the provider takes them, else the texts that they are. */
function itemsFor({ inputs, texts }: EmbeddingExchange, { backend }: Target): readonly unknown[] {
  return backend.dialect.quirks.embeddings.tokens === 'no' && texts !== null ? texts : inputs.items
}

function inBatches<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, n) => items.slice(n * size, (n + 1) * size))
}

function boundsOf({ bodyBytes, allText, choices }: EmbeddingExchange) {
  return usageBounds({ requestBytes: bodyBytes, allText, choices, outputLimit: null, routeOutputMax: null })
}
