import type { FastifyInstance } from 'fastify'
import type { Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange } from '../exchange/prepare-exchange.ts'
import { type ChatRequest, outputTokensMax, parseChatRequest } from '../requests/chat-request.ts'
import {
  estimateInSteps,
  estimatePrompt,
  type Prompt,
  type PromptEstimate,
  readPrompt,
} from '../tokens/token-estimate.ts'
import { unreadBytes } from '../tokens/unread-bytes.ts'
import { atOnceBytesMax, inTurns, workThrough } from '../wire/turns.ts'

type Chat = Pick<Extract<Exchange, { endpoint: 'chat' }>, 'endpoint' | 'request'>

const chat: Operation<Chat> = {
  type: 'chat',
  parse(body) {
    const parsed = parseChatRequest(body)
    return 'refusal' in parsed ? parsed : { endpoint: 'chat', request: parsed.request }
  },
  measure({ request }, bodyBytes) {
    if (bodyBytes > atOnceBytesMax)
      return inTurns(estimateInSteps(request)).then(({ tokens, prompt }) =>
        measured(request, { tokens, allText: prompt.allText }, () => prompt),
      )
    return measured(request, estimatePrompt(request), () => readPrompt(request))
  },
  countUnread: ({ request }, bodyBytes) => workThrough(unreadBytes(request), bodyBytes),
}

function measured(request: ChatRequest, estimate: PromptEstimate, read: () => Prompt) {
  return {
    mode: request.stream === true ? 'stream' : 'plain',
    choices: request.n ?? 1,
    outputTokensMax: outputTokensMax(request),
    promptTokens: estimate.tokens,
    allText: estimate.allText,
    readPrompt: read,
  } as const
}

/** `POST /v1/chat/completions`, plain and streamed. */
export function chatRoutes(app: FastifyInstance, deps: ExchangeDeps): void {
  exchangeRoute(app, { path: '/v1/chat/completions', access: 'api_key' }, deps, (sent, table, inspect) =>
    prepareExchange(chat, sent, table, inspect),
  )
}
