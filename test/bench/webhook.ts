import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { startProcess } from '../support/processes.ts'

/**
 * `node test/bench/webhook.ts`: how long the webhook receiver takes to answer 200 notifications a second for 30 s, while
 * each answer of Postgres comes 5 ms late, as from a slow disk. Fails above 100 ms at the 99th percentile.
 */
const perSecond = 200
const seconds = 30
const warmUpSeconds = 3
const postgresLatencyMs = 5
const p99MsMax = 100
const secret = 'secret of the webhook in the bench'

/** As large as the provider's own. */
const notification = (n: number) =>
  JSON.stringify({
    type: 'notification',
    event: 'payment.succeeded',
    object: { id: `bench-${n}`, status: 'succeeded', description: 'x'.repeat(1_200) },
  })

const postgres = await startEmbeddedPostgres({ durability: 'safe' })
const pool = createPool({ databaseUrl: postgres.url, applicationName: 'bench' })
await migrate(pool)
const distance = await startDistance(postgres.port)
const receiver = await startProcess('cabinet/webhook/main.ts', {
  DATABASE_URL: distantUrl(),
  WEBHOOK_SECRET: secret,
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.1',
  WEBHOOK_PORT: '0',
  WEBHOOK_ADMIN_PORT: '0',
  WEBHOOK_HOST: '127.0.0.1',
  LOG_LEVEL: 'info',
})
const provider = new Pool(new URL(receiver.baseUrl).origin, { connections: 128 })
try {
  await load(warmUpSeconds)
  const times = (await load(seconds)).toSorted((a, b) => a - b)
  const at = (part: number) => times[Math.ceil(part * times.length) - 1] ?? Number.NaN
  const [p50, p95, p99, max] = [at(0.5), at(0.95), at(0.99), at(1)].map((ms) => Number(ms.toFixed(1)))
  const { rows } = await pool.query<{ count: number }>('select count(*)::int as count from webhook_inbox')
  const stored = rows[0]?.count
  process.stdout.write(
    `${JSON.stringify({ perSecond, postgresLatencyMs, calls: times.length, stored, p50, p95, p99, max })}\n`,
  )
  if (at(0.99) > p99MsMax || stored !== perSecond * (seconds + warmUpSeconds)) process.exitCode = 1
} finally {
  await provider.destroy()
  await receiver.kill()
  await pool.end()
  distance.close()
  await postgres[Symbol.asyncDispose]()
}

/**
 * Sends each request at its time, however long the responses take: a slow response delays no other request.
 * In ms since its time.
 */
async function load(forSeconds: number): Promise<readonly number[]> {
  const startedAtMs = performance.now()
  const calls: Promise<number>[] = []
  for (let n = 0; n < perSecond * forSeconds; n++) {
    const dueAtMs = startedAtMs + (n * 1_000) / perSecond
    if (dueAtMs > performance.now()) await pause(dueAtMs - performance.now())
    calls.push(call(n, dueAtMs))
  }
  return Promise.all(calls)
}

async function call(n: number, dueAtMs: number): Promise<number> {
  const { statusCode, body } = await provider.request({
    path: `/webhooks/yookassa?secret=${encodeURIComponent(secret)}`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: notification(n),
  })
  await body.dump()
  if (statusCode !== 200) throw new Error(`notification ${n} was answered ${statusCode}`)
  return performance.now() - dueAtMs
}

/** A way to a port of this machine on which answers take their time. */
async function startDistance(to: number): Promise<Server> {
  const server = createServer((client) => {
    const far = connect(to, '127.0.0.1')
    client.pipe(far)
    far.on('data', (bytes) => void setTimeout(() => client.write(bytes), postgresLatencyMs))
    for (const [socket, other] of [
      [client, far],
      [far, client],
    ] as [Socket, Socket][]) {
      socket.setNoDelay()
      socket.on('error', () => undefined)
      socket.once('close', () => other.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function distantUrl(): string {
  const url = new URL(postgres.url)
  url.port = String((distance.address() as AddressInfo).port)
  url.searchParams.set('options', '-c role=model_gateway_webhook')
  return url.href
}
