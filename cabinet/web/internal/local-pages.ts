import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LocalPage } from '../local-page.ts'

/** Names by which a browser on this machine asks for it. Any other may be a stranger's that was made to point here. */
const localNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Serves a page to this machine alone; to anybody else nothing is there. */
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
