import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { InspectedKey } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { requestIdOf } from '#core/ledger/request-id'
import { sendPlain, sendRefusal } from '../../http/answer.ts'
import { bearerOf } from '../../http/authenticate.ts'
import type { InspectCaller } from '../../http/key-first.ts'
import { endOfLookup, endOfRefusal, type NoteEnd } from '../../http/request-end.ts'
import type { ResponseStore, StoreCaller } from '../../response-store/response-store.ts'
import { keyRefusal, responseNotFound, responsesNotServed, responsesUnavailable } from '../../wire/errors.ts'
import { inputItemList } from './input-item-list.ts'

type StoredDeps = {
  readonly responses: ResponseStore | undefined
  readonly inspect: InspectCaller
  readonly noteEnd: NoteEnd
}

type Answer = { readonly json: string } | { readonly refusal: Refusal }
type Answering = (id: string, store: ResponseStore, caller: StoreCaller) => Promise<Answer>

const inputItems = /\/input_items$/

/** `GET` and `DELETE /v1/responses/{id}`, and `GET /v1/responses/{id}/input_items`. They cost nothing. */
export function storedResponseRoutes(app: FastifyInstance, deps: StoredDeps): void {
  const path = '/v1/responses/*'
  const config = { access: 'api_key' } as const
  app.get<{ Params: { '*': string } }>(path, { config }, (request, reply) => {
    reply.hijack()
    const asked = request.params['*']
    if (!inputItems.test(asked)) return answer(request, reply.raw, deps, asked, show)
    const query = new URLSearchParams(request.raw.url?.split('?')[1])
    return answer(request, reply.raw, deps, asked.replace(inputItems, ''), (...one) =>
      listInput(query, ...one),
    )
  })
  app.delete<{ Params: { '*': string } }>(path, { config }, (request, reply) => {
    reply.hijack()
    return answer(request, reply.raw, deps, request.params['*'], remove)
  })
}

async function answer(
  request: FastifyRequest,
  raw: Parameters<typeof sendPlain>[0],
  { responses, inspect, noteEnd }: StoredDeps,
  asked: string,
  answering: Answering,
): Promise<void> {
  const inspection = await inspect(request)
  const { key } = inspection
  const answered =
    inspection.outcome === 'refused'
      ? { refusal: keyRefusal(inspection) }
      : await answerOf(request, inspection.key, responses, asked, answering)
  if ('refusal' in answered) {
    sendRefusal(raw, answered.refusal, { requestId: request.id })
    noteEnd(request, endOfRefusal({ ...answered, key }))
  } else {
    sendPlain(raw, answered.json, { requestId: request.id })
    noteEnd(request, endOfLookup(key))
  }
}

async function answerOf(
  { id: requestId, headers, caller }: FastifyRequest,
  { organizationId, keyId }: InspectedKey,
  store: ResponseStore | undefined,
  asked: string,
  answering: Answering,
): Promise<Answer> {
  if (store === undefined) return { refusal: responsesNotServed }
  const authorization = bearerOf(headers)
  const ip = caller?.address() ?? ''
  return answering(requestIdOf(asked), store, { authorization, ip, requestId, organizationId, keyId })
}

const show: Answering = async (id, store, caller) => {
  const [response, refusal] = await findOne(id, store, caller)
  return response === undefined ? { refusal } : { json: response.response }
}

async function listInput(
  query: URLSearchParams,
  id: string,
  store: ResponseStore,
  caller: StoreCaller,
): Promise<Answer> {
  const [response, refusal] = await findOne(id, store, caller)
  return response === undefined ? { refusal } : inputItemList(response, query)
}

const remove: Answering = async (id, store, caller) => {
  const end = await store.remove(id, caller)
  if (end === 'removed')
    return { json: JSON.stringify({ id: `resp_${id}`, object: 'response', deleted: true }) }
  return { refusal: end === 'not_found' ? responseNotFound : responsesUnavailable }
}

async function findOne(id: string, store: ResponseStore, caller: StoreCaller) {
  const found = await store.find(id, caller)
  if (found.kind === 'found') return [found.responses[0], responseNotFound] as const
  return [undefined, found.kind === 'unavailable' ? responsesUnavailable : responseNotFound] as const
}
