import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { openConnection } from '../support/raw-client.ts'

/** More than `GATEWAY_CONNECTIONS_MAX` is here. */
const connections = 1_500

export const manyConnections: AbuseCase = {
  name: 'many-connections',
  promise: 'Connections that send a byte now and then are closed above the cap, and probes are answered.',
  customers: {},
  growthMiBMax: 150,
  attack,
}

async function attack({ port, adminPort, forMs }: Target) {
  const endsAtMs = performance.now() + forMs
  const sockets: Socket[] = []
  for (let n = 0; n < connections; n += 50) {
    sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => openConnection(port)))))
    for (const socket of sockets.slice(n))
      socket.resume().write('POST /v1/chat/completions HTTP/1.1\r\nx-slow: ')
    await pause((forMs / 2) * (50 / connections))
  }
  const breaches: string[] = []
  let slowestProbeMs = 0
  do {
    for (const socket of sockets) if (!socket.destroyed) socket.write('x')
    const startedAtMs = performance.now()
    const statuses = await Promise.all(['/livez', '/readyz'].map((path) => probe(adminPort, path)))
    slowestProbeMs = Math.max(slowestProbeMs, performance.now() - startedAtMs)
    if (statuses.some((status) => status !== 200)) breaches.push(`probes got ${statuses.join(' and ')}`)
    await pause(200)
  } while (performance.now() < endsAtMs)
  const open = sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length
  for (const socket of sockets) socket.destroy()
  if (slowestProbeMs > 1_000) breaches.push(`a probe took ${Math.round(slowestProbeMs)} ms`)
  if (open === connections) breaches.push(`all ${connections} connections stayed open`)
  return { figures: { connections, open, slowestProbeMs }, breaches }
}

async function probe(adminPort: number, path: string): Promise<number> {
  const signal = AbortSignal.timeout(5_000)
  return await fetch(`http://127.0.0.1:${adminPort}${path}`, { signal }).then(
    ({ status }) => status,
    () => 0,
  )
}
