import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { type Dispatcher, Pool } from 'undici'

/** A Fastify 5 that leaves bodies as they came. */
export function createBareApp(): FastifyInstance {
  const app = Fastify({ logger: false })
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  return app
}

const pool = new Pool(String(process.env.UPSTREAM_ORIGIN), { pipelining: 1 })

/** Sends a request on as it is, with the provider's credential. */
export function forward({ url, body }: FastifyRequest): Promise<Dispatcher.ResponseData> {
  return pool.request({
    path: url,
    method: 'POST',
    body: body instanceof Buffer ? body : null,
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-upstream' },
  })
}

/** Listens at a free port and reports it in the format of `startProcess`. */
export async function listen(app: FastifyInstance): Promise<void> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  process.stdout.write(
    `${JSON.stringify({ msg: 'started', ...Object(app.server.address()), adminPort: 0 })}\n`,
  )
}
