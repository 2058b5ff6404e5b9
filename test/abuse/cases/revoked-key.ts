import { Pool } from 'undici'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { createTally, onlyThese, repeat } from '../support/raw-client.ts'

const body = JSON.stringify({ model: 'abuse/good', messages: [{ role: 'user', content: 'Hi' }] })
const lanes = 32

export const revokedKey: AbuseCase = {
  name: 'revoked-key',
  promise: 'A revoked key that is hammered is 401 each time and delays nobody.',
  customers: { revoked: { isRevoked: true } },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: lanes, pipelining: 1 })
  const headers = { authorization: `Bearer ${keys.revoked}`, 'content-type': 'application/json' }
  const statuses = createTally()
  await repeat({ forMs }, { lanes, everyMs: 100 }, async () => {
    const answer = await pool.request({ path: '/v1/chat/completions', method: 'POST', headers, body })
    await answer.body.dump()
    statuses.add(answer.statusCode)
  })
  await pool.destroy()
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [401, 503]) }
}
