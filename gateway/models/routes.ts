import type { FastifyInstance } from 'fastify'
import { refuseAddress } from '../http/early-refusal.ts'
import { answerKeyed, type KeyedDeps } from '../http/keyed-answer.ts'
import type { RouteTable } from '../routing/route-table.ts'
import { modelNotFound, serviceUnavailable } from '../wire/errors.ts'
import { findModel, listModels } from './internal/model-list.ts'

type ModelsDeps = KeyedDeps & {
  /** `undefined` until a catalog has been read. */
  readonly routes: () => RouteTable | undefined
}

/** `GET /v1/models`, and `GET /v1/models/{id}` with the slash of the id as it is or as `%2F`. */
export function modelRoutes(app: FastifyInstance, deps: ModelsDeps): void {
  app.get('/v1/models', { config: { access: 'api_key' } }, (request, reply) =>
    answerKeyed(request, reply, deps, (key) => {
      const table = deps.routes()
      if (table === undefined) return { refusal: serviceUnavailable }
      return { body: { object: 'list', data: listModels(table, key) } }
    }),
  )
  app.get<{ Params: { '*': string } }>('/v1/models/*', { config: { access: 'api_key' } }, (request, reply) =>
    answerKeyed(request, reply, deps, (key) => {
      const { '*': id } = request.params
      const table = deps.routes()
      if (table === undefined) return { refusal: serviceUnavailable }
      if (id === '') return { refusal: refuseAddress(request.raw) }
      const model = findModel(table, key, id)
      return model === undefined ? { refusal: modelNotFound(id) } : { body: model }
    }),
  )
}
