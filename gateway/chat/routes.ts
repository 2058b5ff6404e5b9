import type { FastifyInstance } from 'fastify'
import type { Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange } from '../exchange/prepare-exchange.ts'
import { outputTokensMax, parseChatRequest } from '../requests/chat-request.ts'
import { estimatePrompt, readPrompt } from '../tokens/token-estimate.ts'
import { unreadBytes } from '../tokens/unread-bytes.ts'

type Chat = Pick<Extract<Exchange, { endpoint: 'chat' }>, 'endpoint' | 'request'>

const chat: Operation<Chat> = {
  type: 'chat',
  parse(body) {
    const parsed = parseChatRequest(body)
    return 'refusal' in parsed ? parsed : { endpoint: 'chat', request: parsed.request }
  },
  measure({ request }) {
    const { tokens: promptTokens, allText } = estimatePrompt(request)
    return {
      mode: request.stream === true ? 'stream' : 'plain',
      choices: request.n ?? 1,
      outputTokensMax: outputTokensMax(request),
      promptTokens,
      allText,
      readPrompt: () => readPrompt(request),
    }
  },
  countUnread: ({ request }) => unreadBytes(request),
}

/** `POST /v1/chat/completions`, plain and streamed. */
export function chatRoutes(app: FastifyInstance, deps: ExchangeDeps): void {
  exchangeRoute(app, { path: '/v1/chat/completions', access: 'api_key' }, deps, (sent, table, inspect) =>
    prepareExchange(chat, sent, table, inspect),
  )
}
