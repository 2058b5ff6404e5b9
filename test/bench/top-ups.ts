import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { createKey } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { putDemoCatalog } from '#standalone/demo-catalog'
import { startDemoProvider } from '#standalone/demo-provider/start-demo-provider'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { startRedis } from '#standalone/redis'
import type { Journal } from '#standalone/yookassa/control-contracts'
import { startTill } from '#standalone/yookassa/start-till'
import { newClientAddress } from '../support/client-address.ts'
import { pepper } from '../support/customer.ts'
import { makePayer } from '../support/payer.ts'
import { secrets, startProcess } from '../support/processes.ts'
import { redisLogins, redisUrlOf } from '../support/redis-logins.ts'
import { inTestScope } from '../support/scope.ts'

/**
 * `node test/bench/top-ups.ts`: measures the time from a notification of the payment provider until the key
 * gets 200 again, for organizations that owe 1 ₽. It uses Postgres with fsync, Redis and the test payment
 * provider. Webhook receiver, worker, web and gateway run as processes with the intervals of production.
 */
const count = z.coerce.number().int().positive()
const { tries, together } = z
  .object({ tries: count.default(100), together: count.default(1) })
  .parse(parseArgs({ options: { tries: { type: 'string' }, together: { type: 'string' } } }).values)
const secret = 'secret-of-the-webhook-in-this-benchmark'
const appUrl = 'http://localhost:3000'
const askEveryMs = 5
const giveUpAfterMs = 60_000

const [postgres, redis, provider] = await Promise.all([
  startEmbeddedPostgres({ durability: 'safe' }),
  startRedis({ appendonly: 'yes', logins: redisLogins }),
  startDemoProvider({ port: 0 }),
])
const pool = createPool({ databaseUrl: postgres.url, applicationName: 'bench' })
await migrate(pool)
await putDemoCatalog(pool, provider.url)
const till = await startTill({ shopId: '100500', secretKey: 'test_of-the-bench' })
const [receiver, worker, web, gateway] = await startProcesses()
try {
  await call(`${till.url}/till/settings`, 'PATCH', {
    notifications: 'held',
    notifyUrl: `${new URL(receiver.baseUrl).origin}/webhooks/yookassa?secret=${secret}`,
  })
  const took: number[] = []
  while (took.length < tries) took.push(...(await Promise.all(Array.from({ length: together }, topUpOnce))))
  const sorted = took.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]?.toFixed(0)
  process.stdout.write(
    `${took.length} top-ups, ${together} at a time: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms\n`,
  )
} finally {
  await Promise.all([receiver, worker, web, gateway].map((one) => one.stop()))
  await Promise.all([till.stop(), provider.stop(), pool.end()])
  await redis[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
}

async function startProcesses() {
  const shop = {
    YOOKASSA_SHOP_ID: '100500',
    YOOKASSA_SECRET_KEY: 'test_of-the-bench',
    YOOKASSA_URL: till.apiUrl,
  }
  const common = { ...secrets, LOG_LEVEL: 'info' }
  return await Promise.all([
    startProcess('cabinet/webhook/main.ts', {
      DATABASE_URL: asRole('model_gateway_webhook'),
      LOG_LEVEL: 'info',
      WEBHOOK_SECRET: secret,
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      WEBHOOK_HOST: '127.0.0.1',
      WEBHOOK_PORT: '0',
      WEBHOOK_ADMIN_PORT: '0',
    }),
    startProcess('worker/main.ts', {
      ...common,
      ...shop,
      DATABASE_URL: asRole('model_gateway_worker'),
      REDIS_URL: redisUrlOf.worker(redis.url),
      WORKER_ADMIN_PORT: '0',
      WORKER_HOST: '127.0.0.1',
    }),
    startProcess('cabinet/web/main.ts', {
      ...common,
      ...shop,
      DATABASE_URL: asRole('model_gateway_cabinet'),
      REDIS_URL: redisUrlOf.cabinet(redis.url),
      APP_URL: appUrl,
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
      GATEWAY_BASE_URL: 'http://localhost:8080/v1',
      CABINET_HOST: '127.0.0.1',
      CABINET_PORT: '0',
      CABINET_ADMIN_PORT: '0',
    }),
    startProcess('gateway/main.ts', {
      ...common,
      REDIS_URL: redisUrlOf.gateway(redis.url),
      UPSTREAM_ALLOWED_CIDRS: '127.0.0.0/8',
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_HOST: '127.0.0.1',
    }),
  ])
}

/** Milliseconds from the moment at which the test payment provider begins to notify. */
async function topUpOnce(): Promise<number> {
  const payer = await makePayer(pool)
  const { organizationId } = payer
  const debt = { kind: 'adjustment', refId: randomUUID(), amount: nanoRub(-1_000_000_000n) } as const
  await inTestScope(pool, (client) => credit(client, { ...debt, organizationId }))
  const limits = { rpm: 1_000_000, tpm: 1_000_000_000 }
  const { secret: key } = await inTestScope(pool, (client) =>
    createKey(client, { organizationId, name: 'bench', managedBy: 'cabinet', ...limits }, pepper),
  )
  await untilAnswered(key, 402)
  const { id } = await call(
    `${new URL(web.baseUrl).origin}/api/v1/payments`,
    'POST',
    { amount_rub: '100' },
    {
      cookie: payer.cookie,
      origin: appUrl,
      'idempotency-key': randomUUID(),
      'x-forwarded-for': newClientAddress(),
    },
  )
  const { rows } = await pool.query('select provider_id as "providerId" from payments where id = $1', [id])
  const [{ providerId }] = rows
  await call(`${till.url}/till/payments/${providerId}/pay`, 'POST', { notification: 'usual' })
  const { notifications } = (await call(`${till.url}/till/journal`, 'GET')) as unknown as Journal
  const notification = notifications.find(({ objectId }) => objectId === providerId)
  const startedAtMs = performance.now()
  const delivered = call(`${till.url}/till/notifications/${notification?.id}/deliver`, 'POST', {})
  await untilAnswered(key, 200)
  const tookMs = performance.now() - startedAtMs
  await delivered
  return tookMs
}

async function untilAnswered(key: string, status: number): Promise<void> {
  const giveUpAtMs = performance.now() + giveUpAfterMs
  const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (;;) {
    const answer = await fetch(`${gateway.baseUrl}/chat/completions`, { method: 'POST', headers, body })
    const text = await answer.text()
    if (answer.status === status) return
    if (performance.now() > giveUpAtMs) throw new Error(`not ${status} but ${answer.status}: ${text}`)
    await pause(askEveryMs)
  }
}

async function call(
  url: string,
  method: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`)
  return JSON.parse(text)
}

function asRole(role: string): string {
  const url = new URL(postgres.url)
  url.searchParams.set('options', `-c role=${role}`)
  return url.href
}
