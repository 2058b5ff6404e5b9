import type { AbuseCase, Target } from '../abuse-case.ts'
import {
  chatHead,
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
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

export const ambiguousRequests: AbuseCase = {
  name: 'ambiguous-requests',
  promise:
    'What two servers could read in two ways is 400: two Authorization headers, a coding before chunked, two lengths.',
  customers: { first: {}, second: {} },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const key = `authorization: Bearer ${keys.first}`
  const requests = [
    chatHead(key, `authorization: Bearer ${keys.second}`, `content-length: ${body.length}`) + body,
    chatHead(key, 'transfer-encoding: gzip, chunked') + chunked,
    chatHead(key, 'transfer-encoding: chunked', `content-length: ${body.length}`) + chunked,
    chatHead(key, `content-length: ${body.length}`, `content-length: ${body.length + 1}`) + body,
  ]
  const statuses = createTally()
  let n = 0
  await repeat({ forMs }, { lanes: 8, everyMs: 50 }, async () => {
    const which = n++ % requests.length
    const socket = await openConnection(port)
    const status = readStatus(socket)
    socket.write(requests[which] ?? '')
    const answered = await status
    statuses.add(answered === 400 ? 400 : `${answered} to request ${which + 1}`)
    socket.destroy()
  })
  return { figures: { refused: statuses.counts[400] ?? 0 }, breaches: onlyThese(statuses.counts, [400]) }
}
