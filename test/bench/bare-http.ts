import { createServer } from 'node:http'
import { Pool } from 'undici'

/** The least that a proxy on Node can be. */
const pool = new Pool(String(process.env.UPSTREAM_ORIGIN), { pipelining: 1 })
const server = createServer(async (request, response) => {
  const answer = await pool.request({
    path: request.url ?? '/',
    method: 'POST',
    body: request,
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer sk-upstream',
      'content-length': request.headers['content-length'] ?? '0',
    },
  })
  const { 'content-type': type, 'content-length': length } = answer.headers
  if (type !== undefined) response.setHeader('content-type', type)
  if (length !== undefined) response.setHeader('content-length', length)
  response.writeHead(answer.statusCode)
  answer.body.pipe(response)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ msg: 'started', ...Object(server.address()), adminPort: 0 })}\n`)
})
