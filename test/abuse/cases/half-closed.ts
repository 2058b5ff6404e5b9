import type { AbuseCase, Target } from '../abuse-case.ts'
import {
  chatRequest,
  createTally,
  onlyThese,
  openConnection,
  readStatus,
  repeat,
} from '../support/raw-client.ts'

const body = JSON.stringify({
  model: 'abuse/good',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Hi' }],
})

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
    const socket = await openConnection(port)
    const status = readStatus(socket)
    socket.end(chatRequest(keys.closer ?? '', body))
    statuses.add(await status)
    socket.destroy()
  })
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [200]) }
}
