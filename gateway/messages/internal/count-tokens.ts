import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { InspectedKey } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { mayUse } from '#core/keys/allowed-models'
import type { Log } from '#core/process/log'
import { chatSize } from '../../chat/chat-size.ts'
import { messagesRejections } from '../../formats/messages-format.ts'
import { sendPlain, sendRefusal } from '../../http/answer.ts'
import { type CountCaller, keyFirst, type Refused } from '../../http/key-first.ts'
import { endOfLookup, endOfRefusal, type NoteEnd, type RequestEnd } from '../../http/request-end.ts'
import { parseJsonBody } from '../../requests/json-body.ts'
import { parseMessagesRequest } from '../../requests/messages-request.ts'
import { isOpenTo, type RouteTable } from '../../routing/route-table.ts'
import { decryptingOnce } from '../../signatures/decrypt-reasoning.ts'
import type { ReasoningCipher } from '../../signatures/reasoning-cipher.ts'
import type { ProviderCalls } from '../../upstream/provider-call.ts'
import { internalError, keyRefusal, modelNotFound, serviceUnavailable } from '../../wire/errors.ts'
import type { JsonObject } from '../../wire/json-fields.ts'
import { workThrough } from '../../wire/turns.ts'
import { ownRequestOf } from './own-request.ts'
import { countAtProvider } from './provider-count.ts'

type CountDeps = {
  readonly calls: ProviderCalls
  readonly cipher: ReasoningCipher
  /** `undefined` until a catalog has been read. */
  readonly routes: () => RouteTable | undefined
  readonly takeTokenCount: CountCaller
  readonly noteEnd: NoteEnd
  readonly log: Log
}

/** `POST /v1/messages/count_tokens`: the count of a provider with this API, otherwise an estimate. Free of charge and of RPM. */
export function countTokensRoute(app: FastifyInstance, deps: CountDeps): void {
  const config = { access: 'api_key', rejections: messagesRejections } as const
  app.post('/v1/messages/count_tokens', { config }, async (request, reply) => {
    reply.hijack()
    const answer = (found: Found | Refused): RequestEnd => {
      const facts = { requestId: request.id }
      if ('refusal' in found) {
        sendRefusal(reply.raw, found.refusal, facts, messagesRejections)
        return endOfRefusal(found)
      }
      const { tokens, isEstimated } = found
      sendPlain(reply.raw, JSON.stringify({ input_tokens: tokens }), { ...facts, isEstimated })
      return endOfLookup(found.key)
    }
    try {
      deps.noteEnd(request, answer(await count(request, deps)))
    } catch (error) {
      deps.log.error({ requestId: request.id, err: error }, 'request failed')
      deps.noteEnd(request, answer({ refusal: internalError }))
    }
  })
}

type Found = { readonly tokens: number; readonly isEstimated: boolean; readonly key: InspectedKey }

async function count(request: FastifyRequest, deps: CountDeps): Promise<Found | Refused> {
  const { caller } = request
  if (caller === null) throw new Error('a route handler was called without an authenticated caller')
  const inspection = await deps.takeTokenCount(caller)
  if (inspection.outcome === 'refused') return { refusal: keyRefusal(inspection), key: inspection.key }
  const { key } = inspection
  const table = deps.routes()
  if (table === undefined) return { refusal: serviceUnavailable, key }
  const read = await readTokens(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0))
  if ('refusal' in read) return { ...read, key }
  const route = table.findModel(read.model)
  const isThere = route !== undefined && isOpenTo(route, key.organizationId)
  if (!isThere || !mayUse(key.allowedModels, read.model))
    return keyFirst(inspection, modelNotFound(read.model), read.model)
  const findSigned = decryptingOnce((encrypted) => deps.cipher.decrypt(encrypted, key.organizationId))
  const own = { ...ownRequestOf(read.body, request.headers), findSigned }
  const counted = await countAtProvider(deps.calls, route.backends, own, read.bodyBytes)
  return { tokens: counted ?? read.estimate, isEstimated: counted === undefined, key }
}

type Read =
  | {
      readonly body: JsonObject
      readonly bodyBytes: number
      readonly model: string
      readonly estimate: number
    }
  | { readonly refusal: Refusal }

async function readTokens(body: Buffer): Promise<Read> {
  const parsed = await parseJsonBody(body)
  if ('refusal' in parsed) return parsed
  const read = await workThrough(parseMessagesRequest({ ...parsed.body, max_tokens: 1 }), body.length)
  if ('refusal' in read) return read
  const { estimatePrompt } = await chatSize.measure({ request: read.request }, body.length)
  const estimate = Math.max(estimatePrompt(), 1)
  return { body: parsed.body, bodyBytes: body.length, model: read.request.model, estimate }
}
