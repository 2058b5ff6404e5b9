import { setTimeout as pause } from 'node:timers/promises'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf } from '../support/client-apis.ts'
import { chat, createTally, headIn, onlyThese, openConnection, readStatus } from '../support/raw-client.ts'

const mebibyte = 1024 * 1024
const connections = 40
const almost = 'x'.repeat(4 * mebibyte)
/** An eighth of `GATEWAY_HELD_BODY_BYTES_MAX`, and what is there of others. */
const heldMiBMax = 64 + 4

export const oneOrganization: AbuseCase = {
  name: 'one-organization',
  promise: 'One organization holds at most an eighth of the memory for bodies.',
  customers: { hoarder: {}, other: {} },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, adminPort, keys, forMs }: Target) {
  const endsAtMs = performance.now() + forMs
  const statuses = createTally()
  const sockets = await Promise.all(
    Array.from({ length: connections }, async (_, n) => {
      const socket = await openConnection(port)
      const status = readStatus(socket, forMs)
      void status.then((code) => {
        if (code > 0) statuses.add(code)
      })
      socket.write(
        headIn(apiOf(n), `authorization: Bearer ${keys.hoarder}`, `content-length: ${4 * mebibyte + 1}`),
      )
      if ((await Promise.race([status, pause(200)])) === undefined) socket.write(almost)
      return socket
    }),
  )
  const breaches: string[] = []
  let heldMiB = 0
  do {
    await pause(100)
    heldMiB = Math.max(heldMiB, (await readHeldBytes(adminPort)) / mebibyte)
    const body = {
      model: 'abuse/good',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x'.repeat(mebibyte) }],
    }
    const { status } = await chat(port, keys.other ?? '', body)
    if (status !== 200) breaches.push(`a large body of another organization got ${status}`)
  } while (performance.now() < endsAtMs)
  for (const socket of sockets) socket.destroy()
  if (heldMiB > heldMiBMax) breaches.push(`${Math.round(heldMiB)} MiB of bodies were held`)
  if (heldMiB < 16) breaches.push('hardly any body was held: this attack was none')
  return {
    figures: { heldMiB, ...statuses.counts },
    breaches: [...breaches, ...onlyThese(statuses.counts, [503, 429])],
  }
}

async function readHeldBytes(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  return Number(/^model_gateway_held_body_bytes (\d+)/m.exec(text)?.[1] ?? 0)
}
