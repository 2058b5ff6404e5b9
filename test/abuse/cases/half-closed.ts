import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf } from '../support/client-apis.ts'
import { askStatus, createTally, goodBodyIn, onlyThese, repeat, requestIn } from '../support/raw-client.ts'

export const halfClosed: AbuseCase = {
  name: 'half-closed',
  promise: 'Who has sent its request and closes its side of the connection gets its answer.',
  customers: { closer: {} },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let n = 0
  await repeat({ forMs }, { lanes: 8, everyMs: 50 }, async () => {
    const api = apiOf(n++)
    const request = requestIn(api, keys.closer ?? '', goodBodyIn(api))
    statuses.add(await askStatus(port, (socket) => socket.end(request), 30_000))
  })
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [200]) }
}
