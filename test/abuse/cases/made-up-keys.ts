import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf } from '../support/client-apis.ts'
import { askStatus, createTally, headIn, onlyThese, repeat } from '../support/raw-client.ts'

/** 13 Mbit/s on all of them together. */
const lanes = 8
/** As JSON it would keep the event loop for long: numbers that no double has. */
const body = `{"model":"abuse/good","messages":[${'9007199254740993,'.repeat(12_000)}1]}`

export const madeUpKeys: AbuseCase = {
  name: 'made-up-keys',
  promise: 'A key that was made up is 401 before its body is read.',
  customers: { real: {} },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let [bodies, n] = [0, 0]
  const send = (socket: Socket) => {
    const key = madeUp(keys.real ?? '')
    socket.write(headIn(apiOf(n++), `authorization: Bearer ${key}`, `content-length: ${body.length}`))
    if (socket.write(body)) bodies += 1
  }
  await repeat({ forMs }, { lanes, everyMs: 1_000 }, async () => statuses.add(await askStatus(port, send)))
  return {
    figures: { refused: statuses.counts[401] ?? 0, bodies },
    breaches: onlyThese(statuses.counts, [401]),
  }
}

/** A key with the prefix, the shard and the end of a real one. */
function madeUp(key: string): string {
  const middle = randomBytes(40).toString('base64url').replaceAll(/[-_]/g, 'x').slice(0, 36)
  return key.slice(0, 14) + middle + key.slice(14 + middle.length)
}
