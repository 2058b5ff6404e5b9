import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { type CsvRows, endpoint } from '#cabinet/api/endpoint'
import type { Throttles } from '#cabinet/api/throttles'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { createRedisThrottles } from '#cabinet/web/internal/api/redis-throttles'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { listeningPort } from '#core/process/listening-port'
import { connectRedis } from '#core/redis/redis-connection'
import { startRedis } from '#standalone/redis'
import { unthrottled } from '../support/no-throttles.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { signedIn } from '../support/signed-in.ts'

const { pool } = await databaseOfThisFile()
const quiet = () => undefined

/** What the exports that run wait for: each is one that goes on as soon as its test lets it. */
const waiting: (() => void)[] = []

async function* rows(): CsvRows {
  yield ['a']
  await new Promise<void>((resolve) => waiting.push(resolve))
  yield ['b']
}

/** A replica of the cabinet with one endpoint. */
async function startReplica(throttles: Throttles): Promise<string> {
  const app = buildApp({
    sessions: userSessions(pool),
    metrics: createWebMetrics(),
    endpoints: [
      endpoint(
        {
          operation: 'export',
          summary: 'Export',
          method: 'GET',
          url: '/api/v1/rows.csv',
          access: { to: 'person' },
          answers: { 200: 'csv' },
          query: z.strictObject({ wrong: z.literal('no').optional() }),
        },
        async () => ({ status: 200, csv: rows(), fileName: 'rows.csv' }),
      ),
    ],
    trustedProxies: [],
    appOrigin: 'http://localhost',
    ...unthrottled,
    throttles,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  afterAll(() => app.close())
  return `http://127.0.0.1:${listeningPort(app.server)}/api/v1/rows.csv`
}

const server = await startRedis({ appendonly: 'no' })
const redis = connectRedis(server.url, { name: 'test' })
await redis.connected(5_000)
const unreachable = connectRedis('redis://127.0.0.1:1', { name: 'test' })
afterAll(async () => {
  redis.close()
  unreachable.close()
  await server[Symbol.asyncDispose]()
})
const throttles = createRedisThrottles(redis)
const [url, urlOfOther] = [await startReplica(throttles), await startReplica(throttles)]
const urlWithoutRedis = await startReplica(createRedisThrottles(unreachable))

/** Asks for an export, and answers once its head has come. */
async function ask(cookie: string, query = '', signal?: AbortSignal, at = url): Promise<Response> {
  return fetch(`${at}${query}`, {
    headers: { cookie, 'accept-language': 'en', connection: 'close' },
    ...(signal && { signal }),
  })
}

async function askBoth(cookie: string, signal?: AbortSignal, at = [url, url]): Promise<readonly Response[]> {
  onTestFinished(() => void waiting.splice(0).map((goOn) => goOn()))
  const running = [await ask(cookie, '', signal, at[0]), await ask(cookie, '', signal, at[1])]
  await vi.waitFor(() => expect(waiting).toHaveLength(2))
  return running
}

test('a person has two exports at once: the third is 429 with a Retry-After, and others have theirs', async () => {
  const [person, other] = [await signedIn(pool), await signedIn(pool)]
  const running = await askBoth(person.cookie)
  const third = await ask(person.cookie)
  expect([third.status, third.headers.get('retry-after')]).toEqual([429, '10'])
  expect(await third.json()).toMatchObject({
    code: 'too_many_exports',
    detail: expect.stringMatching(/two exports/),
  })
  expect((await ask(other.cookie)).status).toBe(200)
  for (const goOn of waiting.splice(0)) goOn()
  expect(await Promise.all(running.map((response) => response.text()))).toEqual(
    ['\u{feff}a\r\nb\r\n', '\u{feff}a\r\nb\r\n'].map((text) => text.slice(1)),
  )
  await vi.waitFor(async () => expect((await ask(person.cookie)).status).toBe(200))
})

test('an export whose reader has gone takes no place, and a rejected one takes none either', async () => {
  const { cookie } = await signedIn(pool)
  const reader = new AbortController()
  await askBoth(cookie, reader.signal)
  expect((await ask(cookie)).status).toBe(429)
  reader.abort()
  await vi.waitFor(async () => {
    const statuses = await Promise.all([1, 2, 3].map(async () => (await ask(cookie, '?wrong=yes')).status))
    expect(statuses).toContain(422)
  })
  await vi.waitFor(async () => expect((await ask(cookie)).status).toBe(200))
})

test('two exports are two over all replicas, and each that ends makes room at every one', async () => {
  const [person, other] = [await signedIn(pool), await signedIn(pool)]
  await askBoth(person.cookie, undefined, [url, urlOfOther])
  for (const at of [url, urlOfOther]) expect((await ask(person.cookie, '', undefined, at)).status).toBe(429)
  expect((await ask(other.cookie, '', undefined, urlOfOther)).status).toBe(200)
  waiting.shift()?.()
  await vi.waitFor(async () => expect((await ask(person.cookie, '', undefined, urlOfOther)).status).toBe(200))
  expect((await ask(person.cookie)).status).toBe(429)
})

test('a place that is returned after it expired raises no limit', async () => {
  const rate = { name: 'exports_of_test', count: 2, perS: 60 }
  await throttles.tally(rate, 'someone')
  await redis.redis.flushall()
  await throttles.takeBack(rate, 'someone')
  expect(await throttles.tally(rate, 'someone')).toBe(1)
})

test('while Redis is unavailable each replica allows two', async () => {
  const { cookie } = await signedIn(pool)
  await askBoth(cookie, undefined, [urlWithoutRedis, urlWithoutRedis])
  expect((await ask(cookie, '', undefined, urlWithoutRedis)).status).toBe(429)
})
