import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf, type ClientApi, clientApis } from '../support/client-apis.ts'
import { askStatus, createTally, goodBodyIn, headIn, onlyThese, repeat } from '../support/raw-client.ts'

export const ambiguousRequests: AbuseCase = {
  name: 'ambiguous-requests',
  promise:
    'What two servers could read in two ways is 400: two Authorization headers, two keys, a coding before chunked, two lengths.',
  customers: { first: {}, second: {} },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let n = 0
  await repeat({ forMs }, { lanes: 8, everyMs: 50, atLeast: ways.length * clientApis.length }, async () => {
    const which = n % ways.length
    const api = apiOf(n++, ways.length)
    const answered = await askStatus(port, (socket) => socket.write(ways[which]?.(api, keys) ?? ''))
    statuses.add(answered === 400 ? 400 : `${answered} to request ${which + 1} of ${api}`)
  })
  return { figures: { refused: statuses.counts[400] ?? 0 }, breaches: onlyThese(statuses.counts, [400]) }
}

type Way = (api: ClientApi, keys: Target['keys']) => string

const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

/** A request with a key, header lines that contradict each other, and its body. */
function requestWith(
  linesOf: (body: string, keys: Target['keys']) => readonly string[],
  write: (body: string) => string = (body) => body,
): Way {
  return (api, keys) => {
    const body = goodBodyIn(api)
    return headIn(api, `authorization: Bearer ${keys.first}`, ...linesOf(body, keys)) + write(body)
  }
}

const ways: readonly Way[] = [
  requestWith(({ length }, { second }) => [`authorization: Bearer ${second}`, `content-length: ${length}`]),
  requestWith(({ length }, { second }) => [`x-api-key: ${second}`, `content-length: ${length}`]),
  requestWith(() => ['transfer-encoding: gzip, chunked'], chunked),
  requestWith(({ length }) => ['transfer-encoding: chunked', `content-length: ${length}`], chunked),
  requestWith(({ length }) => [`content-length: ${length}`, `content-length: ${length + 1}`]),
]
