import type { FastifyInstance } from 'fastify'
import type { Mount } from '../mount.ts'

/** Hands over all requests below a path, before anything reads them. */
export function addMount(app: FastifyInstance, { path, answer }: Mount): void {
  app.all(`${path}*`, {
    async onRequest(request, reply) {
      reply.hijack()
      await answer(request.raw, reply.raw)
    },
    handler: () => undefined, // never called
  })
}
