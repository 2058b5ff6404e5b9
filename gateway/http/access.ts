import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { RejectionFormat } from './answer.ts'

/** Who may call a route. `api_key`: any client with a well-formed key; Redis later decides what it may do. `anyone`: no key. */
export type Access = 'api_key' | 'anyone'

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly access: Access
    /** Of rejections that are decided before the route reads the request; absent: OpenAI's. */
    readonly rejections?: RejectionFormat
  }
}

/**
 * Lets a request reach a route only by the access rule that the route declares.
 *
 * A route that is added later and declares none is an error at once, so no route is open by oversight.
 */
export function guardRoutes(
  app: FastifyInstance,
  rules: Readonly<Record<Exclude<Access, 'anyone'>, onRequestHookHandler>>,
): void {
  app.addHook('onRoute', (route) => {
    const access = route.config?.access
    if (access === undefined)
      throw new Error(`route ${route.url} does not declare who may call it: set config.access`)
    if (access !== 'anyone') route.onRequest = [rules[access], ...[route.onRequest ?? []].flat()]
  })
}
