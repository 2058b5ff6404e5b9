import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LocalPage } from '../local-page.ts'

/**
 * Host names by which a browser on this machine calls it. Any other name may be an attacker's that resolves to this
 * machine.
 */
const localNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Serves a page only to this machine. Other clients get 404. */
export function addLocalPage(app: FastifyInstance, { url, render }: LocalPage): void {
  app.get(url, (request, reply) => {
    if (!isLocal(request)) return reply.callNotFound()
    const { type, body } = render()
    return reply
      .type(type)
      .header('cache-control', 'no-store')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .header('referrer-policy', 'no-referrer')
      .header('x-content-type-options', 'nosniff')
      .send(body)
  })
}

function isLocal({ socket: { remoteAddress = '' }, hostname }: FastifyRequest): boolean {
  const isLoopback = /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress)
  return isLoopback && localNames.has(hostname)
}
