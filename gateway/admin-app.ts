import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

/** Why a gateway gets no traffic, or `ready`. */
export type Readiness = 'ready' | 'no_catalogue' | 'draining'

/**
 * The port for Kubernetes and Prometheus, never for clients: `/livez`, `/readyz`, `/metrics`.
 *
 * Redis being away does not make a gateway unready: every replica would leave the load balancer at once, and clients
 * would read its bare error instead of our 503 with `Retry-After`.
 */
export function buildAdminApp(deps: {
  readonly registry: Registry
  readonly readiness: () => Readiness
}): FastifyInstance {
  const app = Fastify({ logger: false })
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const status = deps.readiness()
    return reply.code(status === 'ready' ? 200 : 503).send({ status })
  })
  app.get('/metrics', async (_request, reply) => {
    return reply.type(deps.registry.contentType).send(await deps.registry.metrics())
  })
  return app
}
