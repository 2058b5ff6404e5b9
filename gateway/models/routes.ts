import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { InspectedKey } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { messagesRejections } from '../formats/messages-format.ts'
import { refuseAddress } from '../http/early-refusal.ts'
import { answerKeyed, type KeyedDeps } from '../http/keyed-answer.ts'
import type { RouteTable } from '../routing/route-table.ts'
import { invalidValue, modelNotFound, serviceUnavailable } from '../wire/errors.ts'
import {
  findForAnthropic,
  findModel,
  listForAnthropic,
  listModels,
  type PageAsked,
} from './internal/model-list.ts'

type ModelsDeps = KeyedDeps & {
  /** `undefined` until a catalog has been read. */
  readonly routes: () => RouteTable | undefined
}

type Found = { readonly body: object } | { readonly refusal: Refusal }

/**
 * `GET /v1/models`, and `GET /v1/models/{id}` with the slash of the id as it is or as `%2F`. Clients that send
 * `anthropic-version` get both in Anthropic's format.
 */
export function modelRoutes(app: FastifyInstance, deps: ModelsDeps): void {
  app.get('/v1/models', { config: { access: 'api_key' } }, (request, reply) =>
    answerKeyed(request, reply, deps, (key) => list(request, deps.routes(), key), rejectionsFor(request)),
  )
  app.get<{ Params: { '*': string } }>('/v1/models/*', { config: { access: 'api_key' } }, (request, reply) =>
    answerKeyed(
      request,
      reply,
      deps,
      (key) => {
        const { '*': id } = request.params
        const table = deps.routes()
        if (table === undefined) return { refusal: serviceUnavailable }
        if (id === '') return { refusal: refuseAddress(request.raw) }
        const found = isAnthropic(request) ? findNamed(table, key, id) : findModel(table, key, id)
        return found === undefined ? { refusal: modelNotFound(id) } : { body: found }
      },
      rejectionsFor(request),
    ),
  )
}

function isAnthropic({ headers }: FastifyRequest): boolean {
  return headers['anthropic-version'] !== undefined
}

function rejectionsFor(request: FastifyRequest) {
  return isAnthropic(request) ? messagesRejections : undefined
}

function list(request: FastifyRequest, table: RouteTable | undefined, key: InspectedKey): Found {
  if (table === undefined) return { refusal: serviceUnavailable }
  if (!isAnthropic(request)) return { body: { object: 'list', data: listModels(table, key) } }
  const page = pageOf(new URLSearchParams(request.raw.url?.split('?')[1]))
  return 'refusal' in page ? page : { body: listForAnthropic(table, key, page) }
}

/** Anthropic's names have no provider. */
function findNamed(table: RouteTable, key: InspectedKey, id: string) {
  return findForAnthropic(table, key, id.includes('/') ? id : `anthropic/${id}`)
}

const limitUsual = 20
const limitMax = 1_000

function pageOf(query: URLSearchParams): PageAsked | { readonly refusal: Refusal } {
  const limit = Number(query.get('limit') ?? limitUsual)
  if (!Number.isInteger(limit) || limit < 1 || limit > limitMax)
    return { refusal: invalidValue('limit', `must be an integer from 1 to ${limitMax}`) }
  return { limit, afterId: query.get('after_id') ?? undefined, beforeId: query.get('before_id') ?? undefined }
}
