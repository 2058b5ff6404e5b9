import { fieldsOf, itemsOf } from '../../../../wire/json-fields.ts'
import { workThrough } from '../../../../wire/turns.ts'
import type { Failure } from '../../../failure.ts'
import type { AdaptedChat, ChatCall, ProviderAdapter } from '../../../provider-adapter.ts'
import { behind } from '../../addresses.ts'
import { embeddings } from '../openai/embeddings.ts'
import { readAnswer } from './answer.ts'
import { messagesRelay } from './relay.ts'
import { writeRequest } from './request.ts'
import { createEventReader } from './stream.ts'

/**
 * Anthropic's Messages API. Versions of the API and abilities of its models are data: the header and the `anthropic` of
 * its rows (`provider-rows.ts`).
 */
export const anthropicAdapter: ProviderAdapter = {
  urlsOf({ baseUrl, type }) {
    // It has no embeddings: a route of them gets its 404, and is reported as misrouted.
    const url = behind(baseUrl, type === 'chat' ? '/messages' : '/embeddings')
    return { plain: url, stream: url }
  },
  modelsUrlOf: (baseUrl) => behind(baseUrl, '/models'),
  isModelList: (body) => itemsOf(fieldsOf(body)?.data).length > 0,
  streamType: 'text/event-stream',
  chat: (request) => workThrough(writeChat(request), request.bodyBytes),
  embeddings,
  relay: messagesRelay,
}

function* writeChat(request: AdaptedChat): Generator<undefined, ChatCall | Failure> {
  const written = yield* writeRequest(request)
  if ('recovery' in written) return written
  const { json, toolNames } = written
  const reading = { nameOf: toolNames.original, origin: request.dialect.origin }
  return {
    json,
    createEventReader: () => createEventReader(reading),
    readAnswer: (text) => readAnswer(text, reading),
  }
}
