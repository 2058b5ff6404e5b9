import type { FastifyInstance } from 'fastify'
import { answerKeyed, type KeyedDeps } from '../http/keyed-answer.ts'
import { keyReport } from './internal/key-report.ts'

/** `GET /v1/key`: the calling key, its limits and what is left of them. Does not count towards them. */
export function keyRoutes(app: FastifyInstance, deps: KeyedDeps): void {
  app.get('/v1/key', { config: { access: 'api_key' } }, (request, reply) =>
    answerKeyed(request, reply, deps, (key) => ({ body: keyReport(key, Date.now()) })),
  )
}
