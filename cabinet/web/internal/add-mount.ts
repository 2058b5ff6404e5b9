import type { FastifyInstance } from 'fastify'
import type { Mount } from '../mount.ts'

/** Hands over whatever is asked for below a path, before anything of it is read. */
export function addMount(app: FastifyInstance, { path, answer }: Mount): void {
  app.all(`${path}*`, {
    async onRequest(request, reply) {
      reply.hijack()
      await answer(request.raw, reply.raw)
    },
    handler: () => undefined, // nothing gets so far
  })
}
