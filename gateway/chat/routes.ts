import type { FastifyInstance } from 'fastify'
import type { Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange } from '../exchange/prepare-exchange.ts'
import { chatFormat } from '../formats/chat-format.ts'
import { type ChatRequest, outputTokensMax, parseChatRequest } from '../requests/chat-request.ts'
import { takeApart } from '../tokens/measurable-prompt.ts'
import { contentOf, type PromptContent } from '../tokens/prompt-content.ts'
import { estimateInSteps, estimatePrompt, readPrompt } from '../tokens/token-estimate.ts'
import { atOnceBytesMax, inTurns, workThrough } from '../wire/turns.ts'

type Chat = Pick<Extract<Exchange, { endpoint: 'chat' }>, 'endpoint' | 'request'>

const chat: Operation<Chat> = {
  type: 'chat',
  parse(body) {
    const parsed = parseChatRequest(body)
    return 'refusal' in parsed ? parsed : { endpoint: 'chat', request: parsed.request }
  },
  measure({ request }, bodyBytes) {
    const content = contentOf(request, bodyBytes)
    if (bodyBytes > atOnceBytesMax)
      return inTurns(estimateInSteps(request)).then(({ tokens, prompt }) =>
        measured(request, content, { estimatePrompt: () => tokens, readPrompt: () => prompt }),
      )
    let tokens: number | undefined
    return measured(request, content, {
      estimatePrompt() {
        tokens ??= estimatePrompt(request)
        return tokens
      },
      readPrompt: () => readPrompt(request),
    })
  },
  takeApart: ({ request }, bodyBytes) => workThrough(takeApart(request), bodyBytes),
}

function measured(
  request: ChatRequest,
  content: PromptContent,
  estimate: Pick<Exchange, 'estimatePrompt' | 'readPrompt'>,
) {
  return {
    mode: request.stream === true ? 'stream' : 'plain',
    choices: request.n ?? 1,
    outputTokensMax: outputTokensMax(request),
    content,
    ...estimate,
  } as const
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
