import { fieldsOf, findJson, itemsOf } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { EmbeddingsAdapter } from '../../../provider-adapter.ts'
import { modelPathOf } from './model-path.ts'
import { usageOf } from './usage.ts'

/** `batchEmbedContents`, for one text, too. A route's own parameters (`taskType`) are those of each text. */
export const embeddings: EmbeddingsAdapter = {
  write({ fields, items, dialect }) {
    const { dimensions, ...own } = Object.fromEntries(fields)
    const common = {
      model: modelPathOf(dialect.model),
      ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
      ...own,
    }
    return { requests: items.map((text) => ({ ...common, content: { parts: [{ text }] } })) }
  },
  read(text) {
    const body = findJson(text)
    if (isErrorBody(body)) return { kind: 'failed', failure: failureOfErrorBody(body, 'error_in_answer') }
    const answer = fieldsOf(body)
    if (answer === undefined) return { kind: 'failed', failure: failureOfBadAnswer('malformed_answer') }
    const data = itemsOf(answer.embeddings).map((embedding, index) => ({
      object: 'embedding',
      index,
      embedding: fieldsOf(embedding)?.values,
    }))
    // Mostly undefined: the gateway then counts the prompt itself.
    return { kind: 'answer', data, promptTokens: usageOf(answer.usageMetadata)?.prompt_tokens }
  },
}
