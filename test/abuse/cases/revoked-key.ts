import { Pool } from 'undici'
import { paths } from '../../bench/load.ts'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf } from '../support/client-apis.ts'
import { createTally, goodBodyIn, onlyThese, repeat } from '../support/raw-client.ts'

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
  let n = 0
  await repeat({ forMs }, { lanes, everyMs: 100 }, async () => {
    const api = apiOf(n++)
    const answer = await pool.request({ path: paths[api], method: 'POST', headers, body: goodBodyIn(api) })
    await answer.body.dump()
    statuses.add(answer.statusCode)
  })
  await pool.destroy()
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [401, 503]) }
}
