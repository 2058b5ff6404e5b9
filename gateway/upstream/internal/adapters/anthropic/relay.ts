import type { OwnChat, OwnRequest, Relay, RelayedCall } from '../../../provider-adapter.ts'
import { behind } from '../../addresses.ts'
import { allowedToolsOf } from '../route-tools.ts'
import { readOwnAnswer } from './answer.ts'
import { writeOwnRequest } from './own-request.ts'
import { createRelayReader } from './stream.ts'

/** Anthropic's Messages API, for clients that speak it. */
export const messagesRelay: Relay = {
  api: 'messages',
  urlsOf({ baseUrl }) {
    const url = behind(baseUrl, '/messages')
    return { plain: url, stream: url }
  },
  write,
  counts: {
    urlOf: (url) => url.replace(/\/messages(?=\?|$)/, '/messages/count_tokens'),
    read: ({ input_tokens: tokens }) => (Number.isSafeInteger(tokens) ? Number(tokens) : undefined),
  },
}

function* write(request: OwnChat): Generator<undefined, RelayedCall> {
  const { json, dropped } = yield* writeOwnRequest(request)
  const { dropped: droppedBetas, ...headers } = ownHeaders(request.own.headers)
  const own = {
    allowed: allowedToolsOf(request.dialect),
    nameOf: (name: string) => name,
    origin: request.dialect.origin,
  }
  return {
    json,
    ...headers,
    dropped: [...dropped, ...droppedBetas],
    reading: {
      createRelayReader: () => createRelayReader(own),
      readOwnAnswer: (answer) => readOwnAnswer(answer, own),
    },
  }
}

/** Betas that only serve what costs more than the price covers. */
const dearerBetas =
  /^(?:extended-cache-ttl|fast-mode|web-search|web-fetch|code-execution|mcp-client|mcp-servers|skills|advisor|server-side-fallback|fallback-credit)-/

function ownHeaders({ 'anthropic-beta': asked = '', ...version }: OwnRequest['headers']) {
  const betas = asked
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
  const kept = betas.filter((beta) => !dearerBetas.test(beta))
  return {
    version,
    headers: kept.length === 0 ? {} : { 'anthropic-beta': kept.join(',') },
    dropped: kept.length === betas.length ? [] : ['anthropic-beta'],
  }
}
