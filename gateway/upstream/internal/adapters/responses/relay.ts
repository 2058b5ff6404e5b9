import type { OwnChat, Relay, RelayedCall } from '../../../provider-adapter.ts'
import { behind } from '../../addresses.ts'
import { readOwnAnswer } from './answer.ts'
import { createRelayReader } from './events.ts'
import { writeOwnRequest } from './own-request.ts'
import { allowedCallsOf } from './server-tools.ts'

/** OpenAI's Responses API, for clients that speak it. */
export const responsesRelay: Relay = {
  api: 'responses',
  urlsOf({ baseUrl }) {
    const url = behind(baseUrl, '/responses')
    return { plain: url, stream: url }
  },
  write,
}

function* write(request: OwnChat): Generator<undefined, RelayedCall> {
  const { json, dropped } = yield* writeOwnRequest(request)
  const own = { allowed: allowedCallsOf(request.dialect), origin: request.dialect.origin }
  return {
    json,
    dropped,
    headers: request.own.headers,
    reading: {
      createRelayReader: () => createRelayReader(own),
      readOwnAnswer: (answer) => readOwnAnswer(answer, own),
    },
  }
}
