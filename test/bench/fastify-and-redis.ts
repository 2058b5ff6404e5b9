import Fastify from 'fastify'
import { Pool } from 'undici'
import { createAdmission } from '#cabinet/admission'
import { findBearer, findKey, hashKey } from '#cabinet/key'
import { connectRedis } from '#cabinet/redis-connection'
import { pepper, recordOf, uuidV7 } from '../support/customer.ts'
import { emptyRecord } from '../support/shards.ts'

/**
 * The bare Fastify proxy that does no more than ask Redis to admit, and to settle before it answers: what the money costs
 * whoever keeps `architecture.md`'s promise, and so the least that ours can add on the machine of the moment.
 */
const pool = new Pool(String(process.env.UPSTREAM_ORIGIN), { pipelining: 1 })
const connection = connectRedis(String(process.env.REDIS_URL), { name: 'bench', timeoutMs: 1_000 })
await connection.connected(5_000)
const admission = createAdmission(connection)
const record = recordOf({ tokens: { input: 180, output: 160 } })
const candidates = [{ model: 'bench/plain', holdNano: 8_900_000n, tokens: 432 }]

const app = Fastify({ logger: false })
app.removeContentTypeParser('application/json')
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
)
app.post('/*', async (request, reply) => {
  const key = findKey(findBearer(request.headers.authorization) ?? '')
  if (key === undefined) return await reply.code(401).send()
  const credential = hashKey(key.key, pepper)
  const requestId = uuidV7()
  const admitted = await admission.admit({
    requestId,
    shard: key.shard,
    credential,
    candidates,
    record: emptyRecord,
  })
  if (admitted.outcome === 'refused') return await reply.code(503).send()
  const answer = await pool.request({
    path: request.url,
    method: 'POST',
    body: request.body instanceof Buffer ? request.body : null,
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-upstream' },
  })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  await admission.settle({ hold: admitted.hold, rank: 1, costNano: 6_600_000n, tokens: 340, record })
  return await reply.code(answer.statusCode).header('content-type', 'application/json').send(bytes)
})
await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(`${JSON.stringify({ msg: 'started', ...Object(app.server.address()), adminPort: 0 })}\n`)
