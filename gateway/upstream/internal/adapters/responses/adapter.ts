import { fieldsOf, findAnswerJson, findExactAnswerJson } from '../../../../wire/json-fields.ts'
import { workThrough } from '../../../../wire/turns.ts'
import { type Failure, failureOfBadAnswer } from '../../../failure.ts'
import {
  type AdaptedChat,
  type ChatCall,
  type EventReader,
  isFailure,
  type ProviderAdapter,
  type WholeAnswer,
} from '../../../provider-adapter.ts'
import { openAiAdapter } from '../openai/adapter.ts'
import { readOwnAnswer } from './answer.ts'
import { createRelayReader, malformed } from './events.ts'
import type { ResponsesReading } from './items.ts'
import { responsesRelay } from './relay.ts'
import { writeRequest } from './request.ts'

/** OpenAI's Responses API for clients of the other APIs, of models that only it serves (`chat` of a row). */
export const responsesAdapter: ProviderAdapter = {
  ...openAiAdapter,
  urlsOf: (place) => (place.type === 'chat' ? responsesRelay.urlsOf(place) : openAiAdapter.urlsOf(place)),
  chat: (request) => workThrough(writeChat(request), request.bodyBytes),
}

function* writeChat(request: AdaptedChat): Generator<undefined, ChatCall | Failure> {
  const json = yield* writeRequest(request)
  if (isFailure(json)) return json
  const reading = { allowed: noTools, origin: request.dialect.origin }
  return {
    json,
    createEventReader: () => createEventReader(reading),
    readAnswer: (text) => readAnswer(text, reading),
  }
}

/** Only the route can request tools that the provider runs, and these are not counted. */
const noTools: ReadonlySet<string> = new Set()

/** Reads the same events as those that are relayed. */
function createEventReader(reading: ResponsesReading): EventReader {
  const reader = createRelayReader(reading)
  return {
    textKey: undefined, // each has its number
    countsKey: 'usage',
    eventHead: 'event: response.output_text.delta\ndata: ',
    read(data) {
      const event = fieldsOf(findAnswerJson(data))
      return event === undefined ? malformed : reader.read(event)
    },
  }
}

function readAnswer(text: string, reading: ResponsesReading): WholeAnswer {
  const response = fieldsOf(findExactAnswerJson(text))
  if (response === undefined) return { kind: 'failed', failure: failureOfBadAnswer('malformed_answer') }
  return readOwnAnswer(response, reading).read
}
