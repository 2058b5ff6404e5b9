import type { FastifyInstance } from 'fastify'
import type { KeyList } from '#core/process/key-list'
import { chatSize } from '../chat/chat-size.ts'
import type { BindChat, Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange } from '../exchange/prepare-exchange.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import { createResponsesFormat } from '../formats/responses-format.ts'
import type { ChatRequest } from '../requests/chat-request.ts'
import { nothingAsked, type ResponsesAsked } from '../requests/responses-asked.ts'
import { type ParsedResponses, parseResponsesRequest } from '../requests/responses-request.ts'
import { workThrough } from '../wire/turns.ts'
import { decryptReasoning, hasEncrypted } from './internal/decrypt-reasoning.ts'
import { createReasoningCipher, type ReasoningCipher } from './internal/reasoning-cipher.ts'

type ResponsesDeps = ExchangeDeps & {
  /** The keys of reasoning that clients keep are derived from them. */
  readonly sealingKeys: KeyList<Uint8Array>
}

type Responses = Pick<Extract<Exchange, { endpoint: 'chat' }>, 'endpoint' | 'request' | 'bindTo'> & {
  readonly format: ApiFormat
  readonly dropped: ParsedResponses['dropped']
  readonly addedBytes: number
}

/** `POST /v1/responses`: a chat by other names. Nothing is stored. */
export function responsesRoutes(app: FastifyInstance, deps: ResponsesDeps): void {
  const operation = operationOf(createReasoningCipher(deps.sealingKeys))
  exchangeRoute(
    app,
    { path: '/v1/responses', access: 'api_key', format: formatWithoutReasoning(nothingAsked) },
    deps,
    (...asked) => prepareExchange(operation, ...asked),
  )
}

const nowS = () => Math.floor(Date.now() / 1000)

/** For rejections: whose organization it is is not known yet. */
function formatWithoutReasoning(asked: ResponsesAsked): ApiFormat {
  return createResponsesFormat(asked, { nowS, encrypt: () => undefined })
}

function operationOf(cipher: ReasoningCipher): Operation<Responses> {
  return {
    type: 'chat',
    parse(body, bodyBytes) {
      const parsed = workThrough(parseResponsesRequest(body), bodyBytes)
      return parsed instanceof Promise
        ? parsed.then((read) => readResponses(read, cipher, bodyBytes))
        : readResponses(parsed, cipher, bodyBytes)
    },
    measure: ({ request, addedBytes }, bodyBytes) => chatSize.measure({ request }, bodyBytes + addedBytes),
    takeApart: chatSize.takeApart,
  }
}

type Parsed =
  ReturnType<typeof parseResponsesRequest> extends Generator<unknown, infer Result> ? Result : never

function readResponses(
  parsed: Parsed,
  cipher: ReasoningCipher,
  bodyBytes: number,
): Responses | Extract<Parsed, { readonly refusal: unknown }> {
  if ('refusal' in parsed) return parsed
  const { request, asked, dropped, addedBytes } = parsed
  return {
    endpoint: 'chat',
    request,
    format: formatWithoutReasoning(asked),
    dropped,
    addedBytes,
    bindTo: binding(request, asked, cipher, bodyBytes),
  }
}

function binding(
  request: ChatRequest,
  asked: ResponsesAsked,
  cipher: ReasoningCipher,
  bodyBytes: number,
): BindChat {
  return (organizationId) => {
    const format = createResponsesFormat(asked, {
      nowS,
      encrypt: (signed) => cipher.encrypt(signed, organizationId),
    })
    if (!hasEncrypted(request)) return { request, format }
    const decrypted = workThrough(
      decryptReasoning(request, (encrypted) => cipher.decrypt(encrypted, organizationId)),
      bodyBytes,
    )
    return decrypted instanceof Promise
      ? decrypted.then((chat) => ({ ...chat, format }))
      : { ...decrypted, format }
  }
}
