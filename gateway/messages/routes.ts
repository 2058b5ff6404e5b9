import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { KeyList } from '#core/process/key-list'
import { chatSize } from '../chat/chat-size.ts'
import type { BindChat, Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange } from '../exchange/prepare-exchange.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import { createMessagesFormat, messagesRejections } from '../formats/messages-format.ts'
import type { CountCaller } from '../http/key-first.ts'
import { type DroppedField, mayReferOutside } from '../requests/dropped-field.ts'
import { modelNamed, type ParsedMessages, parseMessagesRequest } from '../requests/messages-request.ts'
import { decryptChat, decryptingOnce } from '../signatures/decrypt-reasoning.ts'
import { createReasoningCipher, type ReasoningCipher } from '../signatures/reasoning-cipher.ts'
import type { ProviderCalls } from '../upstream/provider-call.ts'
import type { JsonObject } from '../wire/json-fields.ts'
import { whenDone, workThrough } from '../wire/turns.ts'
import { countTokensRoute } from './internal/count-tokens.ts'
import { inertParts, ownRequestOf } from './internal/own-request.ts'

type MessagesDeps = ExchangeDeps & {
  readonly takeTokenCount: CountCaller
  readonly calls: ProviderCalls
  /** The keys of reasoning that clients keep are derived from them. */
  readonly sealingKeys: KeyList<Uint8Array>
}

type Messages = Pick<Extract<Exchange, { endpoint: 'chat' }>, 'endpoint' | 'request' | 'own' | 'bindTo'> &
  Pick<ParsedMessages, 'dropped' | 'addedBytes' | 'asked'> & { readonly format: ApiFormat }

/** `POST /v1/messages`: a chat in Anthropic's terms; and the count of its tokens. */
export function messagesRoutes(app: FastifyInstance, deps: MessagesDeps): void {
  const cipher = createReasoningCipher(deps.sealingKeys)
  const operation = operationOf(cipher)
  exchangeRoute(
    app,
    { path: '/v1/messages', access: 'api_key', format: messagesRejections },
    deps,
    (...asked) => prepareExchange(operation, ...asked),
  )
  countTokensRoute(app, { ...deps, cipher })
}

function operationOf(cipher: ReasoningCipher): Operation<Messages> {
  return {
    type: 'chat',
    parse(body, bodyBytes, headers) {
      const betas = headers['anthropic-beta'] === undefined ? [] : [beta]
      const parsed = workThrough(parseMessagesRequest(body), bodyBytes)
      return whenDone(parsed, (read) => readMessages(read, body, headers, betas))
    },
    measure(asked, bodyBytes) {
      const measured = chatSize.measure(asked, bodyBytes + asked.addedBytes)
      return whenDone(measured, (size) => withBinding(size, asked, cipher, bodyBytes))
    },
    takeApart: chatSize.takeApart,
  }
}

const beta: DroppedField = { name: 'anthropic-beta', path: 'anthropic-beta' }

type Parsed =
  ReturnType<typeof parseMessagesRequest> extends Generator<unknown, infer Result> ? Result : never

function readMessages(
  parsed: Parsed,
  body: JsonObject,
  headers: IncomingHttpHeaders,
  betas: readonly DroppedField[],
) {
  const { model } = body
  if ('refusal' in parsed) return typeof model === 'string' ? { ...parsed, model: modelNamed(model) } : parsed
  const { request, asked, dropped, addedBytes } = parsed
  return {
    endpoint: 'chat',
    request,
    asked,
    // For rejections: whose organization it is is not known yet.
    format: createMessagesFormat(asked, { encrypt: () => undefined, promptTokens: () => 1 }),
    dropped: [...betas, ...dropped],
    addedBytes,
    own: ownRequestOf(body, headers),
  } as const
}

type Size = Awaited<ReturnType<typeof chatSize.measure>>

/** The limit of a request is only the most that it may get: clients always send the model's maximum. */
function withBinding(size: Size, asked: Messages, cipher: ReasoningCipher, bodyBytes: number) {
  return {
    ...size,
    ...(mayReferOutside(asked.dropped, inertParts)
      ? { content: { ...size.content, unseenAt: 'messages' as const } }
      : {}),
    outputTokensMax: undefined,
    outputTokensCap: size.outputTokensMax,
    bindTo: binding(asked, size.estimatePrompt, cipher, bodyBytes),
  }
}

function binding(
  { request, asked }: Messages,
  promptTokens: () => number,
  cipher: ReasoningCipher,
  bodyBytes: number,
): BindChat {
  return ({ organizationId }) => {
    const format = createMessagesFormat(asked, {
      promptTokens,
      encrypt: (signed) => cipher.encrypt(signed, organizationId),
    })
    const findSigned = decryptingOnce((encrypted) => cipher.decrypt(encrypted, organizationId))
    return whenDone(decryptChat(request, findSigned, bodyBytes), (chat) => ({ ...chat, format, findSigned }))
  }
}
