import type { FastifyInstance } from 'fastify'
import type { Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange } from '../exchange/prepare-exchange.ts'
import { chatFormat } from '../formats/chat-format.ts'
import { parseChatRequest } from '../requests/chat-request.ts'
import { chatSize } from './chat-size.ts'

type Chat = Pick<Extract<Exchange, { endpoint: 'chat' }>, 'endpoint' | 'request'>

const chat: Operation<Chat> = {
  type: 'chat',
  parse(body) {
    const parsed = parseChatRequest(body)
    return 'refusal' in parsed ? parsed : { endpoint: 'chat', request: parsed.request }
  },
  ...chatSize,
}

/** `POST /v1/chat/completions`, plain and streamed. */
export function chatRoutes(app: FastifyInstance, deps: ExchangeDeps): void {
  exchangeRoute(
    app,
    { path: '/v1/chat/completions', access: 'api_key', format: chatFormat },
    deps,
    (...asked) => prepareExchange(chat, ...asked),
  )
}
