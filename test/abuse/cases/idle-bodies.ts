import { setTimeout as pause } from 'node:timers/promises'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf } from '../support/client-apis.ts'
import { chat, headIn, openConnection, readStatus } from '../support/raw-client.ts'

const connections = 603
/** All that were made up, and of the others those beyond 64 MiB. */
const refusedMin = 500
/** On a busy machine the last rejections arrive after the attack. */
const graceMs = 15_000
const kibibyte = 1024
const sent = 'x'.repeat(850 * kibibyte)

export const idleBodies: AbuseCase = {
  name: 'idle-bodies',
  promise: '603 connections that send most of a body and then nothing fill no memory that others need.',
  customers: { idler: {}, other: {} },
  growthMiBMax: 300,
  attack,
}

/** Half of them with a key that was made up; large bodies of another organization have room all the time. */
async function attack({ port, keys, forMs }: Target) {
  const { idler = '', other = '' } = keys
  const endsAtMs = performance.now() + forMs
  let refused = 0
  let isEnding = false
  const sockets = await Promise.all(
    Array.from({ length: connections }, async (_, n) => {
      await pause((n * forMs) / 2 / connections)
      const socket = await openConnection(port)
      const status = readStatus(socket, forMs + 2 * graceMs)
      // A client that still sends loses the rejection when its connection is closed.
      void status.then((code) => {
        if (code > 0 || !isEnding) refused += 1
      })
      const key = n % 2 === 0 ? idler : `${idler.slice(0, -8)}00000000`
      socket.write(headIn(apiOf(n, 2), `authorization: Bearer ${key}`, `content-length: ${900 * kibibyte}`))
      // Clients that are rejected immediately send nothing more.
      if ((await Promise.race([status, pause(200)])) === undefined) socket.write(sent)
      return socket
    }),
  )
  const breaches: string[] = []
  const content = 'x'.repeat(500 * kibibyte)
  do {
    const body = { model: 'abuse/good', max_tokens: 10, messages: [{ role: 'user', content }] }
    const { status, text } = await chat(port, other, body)
    if (status !== 200)
      breaches.push(`a large body of another organization got ${status} ${text.slice(0, 200)}`)
    await pause(100)
  } while (performance.now() < endsAtMs)
  while (refused < refusedMin && performance.now() < endsAtMs + graceMs) await pause(20)
  isEnding = true
  for (const socket of sockets) socket.destroy()
  if (refused < refusedMin) breaches.push(`only ${refused} of ${connections} were refused`)
  return { figures: { connections, refused }, breaches }
}
