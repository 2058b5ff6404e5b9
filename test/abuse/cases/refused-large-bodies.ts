import type { Socket } from 'node:net'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf, type ClientApi, clientApis } from '../support/client-apis.ts'
import { askStatus, createTally, headIn, onlyThese, repeat } from '../support/raw-client.ts'

const mebibyte = 1024 * 1024
const lanes = 1
/** 32 MiB of numbers where messages should be: read, parsed and refused. */
const item = '100257,'
const numbers = Buffer.from(`${item.repeat(Math.floor((32 * mebibyte - 100) / item.length))}1]}`)
const starts: Readonly<Record<ClientApi, string>> = {
  chat: '{"model":"abuse/good","messages":[',
  responses: '{"model":"abuse/good","input":[',
  messages: '{"model":"abuse/good","max_tokens":10,"messages":[',
}

export const refusedLargeBodies: AbuseCase = {
  name: 'refused-large-bodies',
  promise: '32 MiB that are refused keep nobody waiting, and count in RPM.',
  customers: { sender: {} },
  growthMiBMax: 600,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let n = 0
  const send = (socket: Socket) => {
    const api = apiOf(n++)
    const start = starts[api]
    const length = start.length + numbers.length
    socket.write(headIn(api, `authorization: Bearer ${keys.sender}`, `content-length: ${length}`) + start)
    socket.write(numbers)
  }
  await repeat({ forMs }, { lanes, everyMs: 1_000, atLeast: clientApis.length }, async () =>
    statuses.add(await askStatus(port, send, 30_000)),
  )
  const rpmUsed = await readRpmUsed(port, keys.sender ?? '')
  const refused = statuses.counts[400] ?? 0
  const uncounted = rpmUsed < refused ? [`${refused} were refused, RPM counts ${rpmUsed}`] : []
  return { figures: { refused }, breaches: [...onlyThese(statuses.counts, [400, 503]), ...uncounted] }
}

async function readRpmUsed(port: number, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`http://127.0.0.1:${port}/v1/key`, { headers })
  const { rpm } = (await response.json()) as { readonly rpm?: { readonly used: number } }
  return rpm?.used ?? 0
}
