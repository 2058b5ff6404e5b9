import type { FastifyInstance } from 'fastify'
import type { Inspection } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import type { KeyList } from '#core/process/key-list'
import { chatSize } from '../chat/chat-size.ts'
import type { BindChat, Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange, type Sent } from '../exchange/prepare-exchange.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import { createResponsesFormat } from '../formats/responses-format.ts'
import { bearerOf } from '../http/authenticate.ts'
import { mayReferOutside } from '../requests/dropped-field.ts'
import { nothingAsked, type ResponsesAsked } from '../requests/responses-asked.ts'
import { type ParsedResponses, parseResponsesRequest } from '../requests/responses-request.ts'
import type { ResponseStore } from '../response-store/response-store.ts'
import { decryptChat, decryptingOnce } from '../signatures/decrypt-reasoning.ts'
import { createReasoningCipher, type ReasoningCipher } from '../signatures/reasoning-cipher.ts'
import type { PromptContent } from '../tokens/prompt-content.ts'
import { responsesNotServed, serviceUnavailable } from '../wire/errors.ts'
import type { JsonObject } from '../wire/json-fields.ts'
import { withRenamedParam } from '../wire/renamed-param.ts'
import { whenDone, workThrough } from '../wire/turns.ts'
import { type Keepable, keeperOf } from './internal/kept-response.ts'
import { inertParts, ownRequestOf } from './internal/own-request.ts'
import {
  inputItemsOf,
  type Resolved,
  refersToStored,
  resolveReferences,
} from './internal/stored-references.ts'
import { storedResponseRoutes } from './internal/stored-response-routes.ts'

type ResponsesDeps = ExchangeDeps & {
  /** The keys of reasoning that clients keep are derived from them. */
  readonly sealingKeys: KeyList<Uint8Array>
  /** Of keys that keep responses; `undefined`: there is no cabinet, and nothing is stored. */
  readonly responses: ResponseStore | undefined
}

type Responses = Pick<
  Extract<Exchange, { endpoint: 'chat' }>,
  'endpoint' | 'request' | 'bindTo' | 'own' | 'nativeOnly'
> & {
  readonly format: ApiFormat
  readonly dropped: ParsedResponses['dropped']
  readonly addedBytes: number
  readonly unseenAt: PromptContent['unseenAt']
}

/** `POST /v1/responses`: a chat by other names. Responses are stored only for keys that ask for it, and read again here. */
export function responsesRoutes(app: FastifyInstance, deps: ResponsesDeps): void {
  const cipher = createReasoningCipher(deps.sealingKeys)
  const format = formatWithoutReasoning(nothingAsked)
  exchangeRoute(
    app,
    { path: '/v1/responses', access: 'api_key', format },
    deps,
    (sent, table, inspect, measure) =>
      prepareExchange(
        operationOf({ cipher, store: deps.responses, sent, inspect }),
        sent,
        table,
        inspect,
        measure,
      ),
  )
  storedResponseRoutes(app, deps)
}

const nowS = () => Math.floor(Date.now() / 1000)

/** For rejections: whose organization it is is not known yet. */
function formatWithoutReasoning(asked: ResponsesAsked): ApiFormat {
  return createResponsesFormat(asked, { nowS, encrypt: () => undefined })
}

/** One request, before it is parsed. */
type Asking = {
  readonly cipher: ReasoningCipher
  readonly store: ResponseStore | undefined
  readonly sent: Sent
  readonly inspect: () => Promise<Inspection>
}

function operationOf(asking: Asking): Operation<Responses> {
  return {
    type: 'chat',
    parse(body, bodyBytes) {
      if (!refersToStored(body)) return parse(asking, unresolved(body), bodyBytes)
      return resolve(asking, body).then((resolved) =>
        'refusal' in resolved ? resolved : parse(asking, resolved, bodyBytes + resolved.addedBytes),
      )
    },
    measure({ request, addedBytes, unseenAt }, bodyBytes) {
      const measuring = chatSize.measure({ request }, bodyBytes + addedBytes)
      if (unseenAt === undefined) return measuring
      return whenDone(measuring, (measured) => withUnseen(measured, unseenAt))
    },
    takeApart: chatSize.takeApart,
  }
}

function withUnseen<Measured extends { readonly content: PromptContent }>(
  measured: Measured,
  unseenAt: NonNullable<PromptContent['unseenAt']>,
): Measured {
  return { ...measured, content: { ...measured.content, unseenAt } }
}

function unresolved(body: JsonObject): Resolved {
  const ownInput = inputItemsOf(body.input)
  return { body, ownInput, previousId: null, addedBytes: 0, pathOf: (path) => path }
}

/** Problems with the key come before whatever is answered here. */
async function resolve(
  { store, sent, inspect }: Asking,
  body: JsonObject,
): Promise<Resolved | { readonly refusal: Refusal }> {
  const { outcome, key } = await inspect()
  if (outcome === 'refused') return { refusal: serviceUnavailable }
  const { organizationId, keyId, keepsResponsesHours } = key
  if (keepsResponsesHours === 0) return unresolved(body)
  if (store === undefined) return { refusal: responsesNotServed }
  const authorization = bearerOf(sent.headers)
  const ip = sent.caller.address()
  const caller = { authorization, ip, requestId: sent.requestId, organizationId, keyId }
  const resolved = await resolveReferences(body, store, caller)
  const excess = 'refusal' in resolved ? undefined : sent.hold(resolved.addedBytes, organizationId)
  return excess === undefined ? resolved : { refusal: excess }
}

type Parsed =
  ReturnType<typeof parseResponsesRequest> extends Generator<unknown, infer Result> ? Result : never
type Read = Responses | { readonly refusal: Refusal }

function parse(asking: Asking, resolved: Resolved, bodyBytes: number): Read | Promise<Read> {
  const parsed = workThrough(parseResponsesRequest(resolved.body), bodyBytes)
  return whenDone(parsed, (read) => readResponses(read, asking, resolved, bodyBytes))
}

function readResponses(parsed: Parsed, asking: Asking, resolved: Resolved, bodyBytes: number): Read {
  const { pathOf } = resolved
  if ('refusal' in parsed) return { refusal: withRenamedParam(parsed.refusal, pathOf) }
  const { request, dropped, addedBytes, nativeOnly } = parsed
  const asked = askedBy(parsed.asked, resolved)
  return {
    endpoint: 'chat',
    request,
    format: formatWithoutReasoning(asked),
    dropped: dropped.map(({ name, path }) => ({ name, path: pathOf(path) })),
    addedBytes: addedBytes + resolved.addedBytes,
    unseenAt: nativeOnly !== undefined || mayReferOutside(dropped, inertParts) ? 'responses' : undefined,
    own: ownRequestOf(resolved.body, asking.sent.headers),
    ...(nativeOnly === undefined ? {} : { nativeOnly: withRenamedParam(nativeOnly, pathOf) }),
    bindTo: binding(parsed, asked, { asking, resolved, bodyBytes }),
  }
}

function askedBy(asked: ResponsesAsked, { previousId, pathOf }: Resolved): ResponsesAsked {
  if (previousId === null) return asked
  return {
    ...asked,
    repeated: { ...asked.repeated, previous_response_id: `resp_${previousId}` },
    pathOf: (path) => pathOf(asked.pathOf(path)),
  }
}

type Binding = { readonly asking: Asking; readonly resolved: Resolved; readonly bodyBytes: number }

function binding({ request }: ParsedResponses, asked: ResponsesAsked, bound: Binding): BindChat {
  const { asking, resolved, bodyBytes } = bound
  const { cipher, store, sent } = asking
  const keepable: Keepable | undefined =
    resolved.body.store === false
      ? undefined
      : {
          authorization: bearerOf(sent.headers),
          ip: sent.caller.address(),
          secretHash: sent.caller.secretHash,
          input: resolved.ownInput,
          inputBytes: bodyBytes,
          previousId: resolved.previousId,
        }
  return (owner) => {
    const { organizationId, keepsResponsesHours } = owner
    const isKept = store !== undefined && keepable !== undefined && keepsResponsesHours > 0
    const format = createResponsesFormat(asked, {
      nowS,
      encrypt: (signed) => cipher.encrypt(signed, organizationId),
      ...(isKept ? { keep: keeperOf(store, keepable, owner) } : {}),
    })
    const findSigned = decryptingOnce((encrypted) => cipher.decrypt(encrypted, organizationId))
    return whenDone(decryptChat(request, findSigned, bodyBytes), (chat) => ({ ...chat, format, findSigned }))
  }
}
