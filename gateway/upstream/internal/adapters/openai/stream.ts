import { fieldsOf, findAnswerJson } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { EventReader, ProviderEvent } from '../../../provider-adapter.ts'
import { findUsage } from './usage.ts'

/** Each event is a chunk; `[DONE]` is the end. */
export const eventReader: EventReader = {
  textKey: 'content',
  countsKey: 'usage',
  eventHead: 'data: ',
  read(data) {
    if (data.startsWith('[DONE]')) return end
    const body = findAnswerJson(data)
    if (isErrorBody(body)) return { kind: 'failed', failure: failureOfErrorBody(body, 'error_event') }
    const chunk = fieldsOf(body)
    if (chunk === undefined) return malformed
    return { kind: 'chunk', chunk, usage: findUsage(chunk) }
  },
}

const end: ProviderEvent = { kind: 'end' }
const malformed: ProviderEvent = { kind: 'failed', failure: failureOfBadAnswer('malformed_chunk') }
