import { createAdmission } from '#core/admission/admission'
import { findBearer, findKey, hashKey } from '#core/keys/key'
import { connectRedis } from '#core/redis/redis-connection'
import { pepper, recordOf, uuidV7 } from '../support/customer.ts'
import { emptyRecord, fixedCandidate } from '../support/shards.ts'
import { createBareApp, forward, listen } from './bare-app.ts'

/**
 * A bare Fastify proxy that only calls Redis to admit each request, and to settle before it responds. Its
 * cost is the minimum for charging each request exactly once, and so the least that the gateway can add on
 * this machine.
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
