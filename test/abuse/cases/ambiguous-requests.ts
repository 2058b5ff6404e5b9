import type { AbuseCase, Target } from '../abuse-case.ts'
import { askStatus, chatHead, createTally, goodBody, onlyThese, repeat } from '../support/raw-client.ts'

const chunked = `${goodBody.length.toString(16)}\r\n${goodBody}\r\n0\r\n\r\n`

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
    chatHead(key, `authorization: Bearer ${keys.second}`, `content-length: ${goodBody.length}`) + goodBody,
    chatHead(key, 'transfer-encoding: gzip, chunked') + chunked,
    chatHead(key, 'transfer-encoding: chunked', `content-length: ${goodBody.length}`) + chunked,
    chatHead(key, `content-length: ${goodBody.length}`, `content-length: ${goodBody.length + 1}`) + goodBody,
  ]
  const statuses = createTally()
  let n = 0
  await repeat({ forMs }, { lanes: 8, everyMs: 50 }, async () => {
    const which = n++ % requests.length
    const answered = await askStatus(port, (socket) => socket.write(requests[which] ?? ''))
    statuses.add(answered === 400 ? 400 : `${answered} to request ${which + 1}`)
  })
  return { figures: { refused: statuses.counts[400] ?? 0 }, breaches: onlyThese(statuses.counts, [400]) }
}
