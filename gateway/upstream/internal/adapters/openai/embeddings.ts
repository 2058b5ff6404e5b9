import { fieldsOf, findJson, itemsOf } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { EmbeddingsAdapter } from '../../../provider-adapter.ts'
import { findUsage } from './usage.ts'

/** One item goes as it is, not in a list: every provider takes that. `float` is asked for wherever base64 is unknown. */
export const embeddings: EmbeddingsAdapter = {
  write({ fields, items, format, dialect }) {
    fields.set('model', dialect.model)
    fields.set('input', items.length === 1 ? items[0] : items)
    if (!dialect.route.drop.has('encoding_format'))
      fields.set('encoding_format', dialect.quirks.embeddings.format === 'both' ? format : 'float')
    return Object.fromEntries(fields)
  },
  read(text) {
    const body = findJson(text)
    if (isErrorBody(body)) return { kind: 'failed', failure: failureOfErrorBody(body, 'error_in_answer') }
    const answer = fieldsOf(body)
    if (answer === undefined) return { kind: 'failed', failure: failureOfBadAnswer('malformed_answer') }
    const usage = fieldsOf(findUsage(answer))
    return {
      kind: 'answer',
      data: itemsOf(answer.data),
      promptTokens: usage?.prompt_tokens || usage?.total_tokens,
    }
  },
}
