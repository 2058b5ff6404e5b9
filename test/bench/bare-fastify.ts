import Fastify from 'fastify'
import { Pool } from 'undici'

/** What ours is measured against: a Fastify 5 proxy that does nothing but forward. */
const pool = new Pool(String(process.env.UPSTREAM_ORIGIN), { pipelining: 1 })
const app = Fastify({ logger: false })
app.removeContentTypeParser('application/json')
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
)
app.all('/*', async (request, reply) => {
  const answer = await pool.request({
    path: request.url,
    method: 'POST',
    body: request.body instanceof Buffer ? request.body : null,
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-upstream' },
  })
  reply.code(answer.statusCode).header('content-type', answer.headers['content-type'])
  if (answer.headers['content-length']) reply.header('content-length', answer.headers['content-length'])
  return reply.send(answer.body)
})
await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(`${JSON.stringify({ msg: 'started', ...Object(app.server.address()), adminPort: 0 })}\n`)
