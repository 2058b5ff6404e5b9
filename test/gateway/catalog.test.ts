import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { gatewaysNameOn, routesNameOn, routesRevisionNameOn } from '#core/catalog/catalog-names'
import { createCatalogCopy } from '#core/catalog/internal/published-catalog'
import { writeKey } from '#core/keys/key'
import { connectRedis } from '#core/redis/redis-connection'
import { shardOf } from '#core/redis/shard'
import { readConfig } from '#gateway/config'
import { startGateway } from '#gateway/start-gateway'
import { redisOfThisFile } from '../support/redis.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { signedRoute } from '../support/signed-route.ts'

const signingKey = 'the key that signs routes in these tests'
const instance = 'gateway-of-this-file'
const pepper = 'pepper of these tests, 32 letters'
const rejected: object[] = []
const log = { debug() {}, info() {}, warn() {}, error: (facts: object) => rejected.push(facts) }

const redis = await redisOfThisFile()
const connection = connectRedis(redis.url, { name: 'test', timeoutMs: 5000 })
await connection.connected(5000)
const catalog = createCatalogCopy(connection)
const config = readConfig({
  GATEWAY_HOST: '127.0.0.1',
  GATEWAY_PORT: '0',
  GATEWAY_ADMIN_PORT: '0',
  GATEWAY_INSTANCE: instance,
  REDIS_URL: redisUrlOf.gateway(redis.url),
  KEY_PEPPER: pepper,
  CREDENTIALS_KEY: randomBytes(32).toString('base64'),
  ROUTES_SIGNING_KEY: signingKey,
})
const gateway = await startGateway(config, log)

afterAll(async () => {
  await gateway.stop()
  connection.close()
})

/** Publishes free routes of these models, all of them signed for the revision. */
async function publish(revision: bigint, ...models: string[]): Promise<void> {
  const routes = models.map((model) => signedRoute(model, { revision, signingKey }, { price: null }))
  await catalog.publishCatalog(revision, new Map(routes))
}

async function readiness(): Promise<number> {
  return (await fetch(`http://127.0.0.1:${gateway.adminPort}/readyz`)).status
}

async function metric(name: string): Promise<string | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text()
  return new RegExp(`^model_gateway_${name} (.*)$`, 'm').exec(text)?.[1]
}

/** The response for a well-formed key without an open shard. */
async function ask(body = '{') {
  const key = writeKey(shardOf(randomUUID()), randomBytes(32), pepper)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const startedAtMs = performance.now()
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body,
  })
  const ms = performance.now() - startedAtMs
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ms }
}

const valid = JSON.stringify({ model: 'demo/a', messages: [{ role: 'user', content: 'Hi' }] })

test('before there is a catalog a gateway is alive, not ready, and answers 503', async () => {
  expect(await readiness()).toBe(503)
  expect((await fetch(`http://127.0.0.1:${gateway.adminPort}/livez`)).status).toBe(200)
  expect(await ask(valid)).toMatchObject({ status: 503, retryAfter: '1' })
})

test('a published catalog is served within a second, its good documents only, and the revision reported', async () => {
  const forger = { revision: 5n, signingKey: 'a key that is not the signing key' }
  const routes = [signedRoute('demo/a', { revision: 5n, signingKey }), signedRoute('demo/forged', forger)]
  await catalog.publishCatalog(5n, new Map(routes))
  await expect.poll(() => metric('routes_revision'), { timeout: 1000 }).toBe('5')
  expect(await readiness()).toBe(200)
  expect(rejected).toEqual([
    { document: 'route:demo/forged', why: expect.stringMatching(/^invalid signature/) },
  ])
  const heartbeat = () =>
    connection.redis.hget(gatewaysNameOn(connection), instance).then((text) => JSON.parse(text ?? '{}'))
  const version = expect.stringMatching(/^\d+\.\d+\.\d+/)
  const report = { revision: '5', atMs: expect.any(Number), unhealthy: {}, answering: [], version }
  await expect.poll(heartbeat).toEqual(report)
})

test('an announced catalog is served at once, without waiting for the next look', async () => {
  const startedAtMs = performance.now()
  for (const revision of [51n, 52n, 53n, 54n, 55n, 56n, 57n, 58n]) {
    await publish(revision, 'demo/a')
    await expect.poll(() => metric('routes_revision'), { interval: 5 }).toBe(String(revision))
  }
  expect(performance.now() - startedAtMs).toBeLessThan(1000) // eight looks would take 2 s
})

test('a newer revision takes its place, an older one and a lost one do not', async () => {
  await publish(60n, 'demo/a', 'demo/b')
  await expect.poll(() => metric('routes_revision')).toBe('60')
  await connection.redis.set(routesRevisionNameOn(connection), '4')
  await connection.redis.del(routesNameOn(connection))
  const pollsBefore = await pollsSoFar()
  await expect.poll(pollsSoFar, { timeout: 35_000 }).toBeGreaterThan(pollsBefore + 2)
  expect(await metric('routes_revision')).toBe('60')
  await connection.redis.flushall()
  const pollsLater = await pollsSoFar()
  await expect.poll(pollsSoFar, { timeout: 35_000 }).toBeGreaterThan(pollsLater + 2)
  expect(await metric('routes_revision')).toBe('60')
  expect(await readiness()).toBe(200)
})

test('a key in a shard that is not loaded gets 503 with Retry-After, never 401, whatever it sent', async () => {
  expect(await ask(valid)).toMatchObject({ status: 503, retryAfter: '1' })
  expect(await ask('{')).toMatchObject({ status: 503, retryAfter: '1' })
})

test('without Redis the answer is a quick 503, and the gateway stays ready', async () => {
  redis.freeze()
  const frozen = [await ask(valid), await ask('{')]
  redis.thaw()
  for (const answer of frozen) {
    expect(answer).toMatchObject({ status: 503, retryAfter: '1' })
    expect(answer.ms).toBeLessThan(1000) // the time-out is 100 ms; the rest is for a busy machine
  }
  await redis.kill()
  expect(await ask('{')).toMatchObject({ status: 503, retryAfter: '1' })
  expect(await ask(valid)).toMatchObject({ status: 503, retryAfter: '1' })
  expect(await readiness()).toBe(200)
  await redis.start()
  await expect.poll(() => connection.runId(), { timeout: 35_000 }).toBeDefined()
  await publish(70n, 'demo/a')
  await expect.poll(() => metric('routes_revision'), { timeout: 35_000 }).toBe('70')
})

/** How often the revision was looked at. */
async function pollsSoFar(): Promise<number> {
  const stats = await connection.redis.info('commandstats')
  return Number(/^cmdstat_get:calls=(\d+)/m.exec(stats)?.[1] ?? 0)
}
