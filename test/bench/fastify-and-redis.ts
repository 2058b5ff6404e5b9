import { createAdmission } from '#cabinet/admission/admission'
import { findBearer, findKey, hashKey } from '#cabinet/keys/key'
import { connectRedis } from '#cabinet/redis/redis-connection'
import { pepper, recordOf, uuidV7 } from '../support/customer.ts'
import { emptyRecord, fixedCandidate } from '../support/shards.ts'
import { createBareApp, forward, listen } from './bare-app.ts'

/**
 * The bare Fastify proxy that does no more than ask Redis to admit, and to settle before it answers: what the money costs
 * whoever charges each request exactly once, and so the least that ours can add on the machine of the moment.
 */
const connection = connectRedis(String(process.env.REDIS_URL), { name: 'bench', timeoutMs: 1_000 })
await connection.connected(5_000)
const admission = createAdmission(connection)
const record = recordOf({ tokens: { input: 180, output: 160 } })
const candidates = [fixedCandidate({ model: 'bench/plain', holdNano: 8_900_000n, tokens: 432 })]

const app = createBareApp()
app.post('/*', async (request, reply) => {
  const key = findKey(findBearer(request.headers.authorization) ?? '', pepper)
  if (key === undefined) return await reply.code(401).send()
  const secretHash = hashKey(key.key, pepper)
  const requestId = uuidV7()
  const admitted = await admission.admit({
    requestId,
    shard: key.shard,
    secretHash,
    candidates,
    record: emptyRecord,
    timeoutMs: 600_000,
  })
  if (admitted.outcome === 'refused') return await reply.code(503).send()
  const answer = await forward(request)
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  await admission.settle({
    hold: admitted.hold,
    chargeKind: 'settled',
    costNano: 6_600_000n,
    tokens: 340,
    record,
  })
  return await reply.code(answer.statusCode).header('content-type', 'application/json').send(bytes)
})
await listen(app)
