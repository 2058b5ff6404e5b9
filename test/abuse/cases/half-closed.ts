import type { AbuseCase, Target } from '../abuse-case.ts'
import { askStatus, chatRequest, createTally, goodBody, onlyThese, repeat } from '../support/raw-client.ts'

export const halfClosed: AbuseCase = {
  name: 'half-closed',
  promise: 'Who has sent its request and closes its side of the connection gets its answer.',
  customers: { closer: {} },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  await repeat({ forMs }, { lanes: 8, everyMs: 50 }, async () => {
    statuses.add(await askStatus(port, (socket) => socket.end(chatRequest(keys.closer ?? '', goodBody))))
  })
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [200]) }
}
