import { randomBytes, randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { Agent, request } from 'undici'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { endpoint } from '#cabinet/api/endpoint'
import type { Rate } from '#cabinet/api/throttles'
import { receiptRoute } from '#cabinet/billing/receipt-route'
import { register } from '#cabinet/people/auth-contracts'
import { readConfig } from '#cabinet/web/config'
import type { WebRoute } from '#cabinet/web/internal/add-route'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { startWeb, type Web } from '#cabinet/web/start-web'
import { orUnavailable } from '#core/db/availability'
import { createPool } from '#core/db/pool'
import { hashKey, writeKey } from '#core/keys/key'
import { blockKey, createKey, revokeKey, rotateKey, unblockKey } from '#core/keys/key-store'
import { postBatch } from '#core/ledger/post-batch'
import { connectRedis } from '#core/redis/redis-connection'
import { shardOf } from '#core/redis/shard'
import { registration } from '../support/cabinet.ts'
import { createCustomer, entryOf, pepper, recordOf } from '../support/customer.ts'
import { noThrottles, unthrottled } from '../support/no-throttles.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { appUrl, webSettings } from '../support/web-settings.ts'

const { pool, url } = await databaseOfThisFile()
const heard: { readonly status: number; readonly level: 'debug' | 'info' }[] = []
const quiet = {
  debug: (line: { readonly status: number }) => void heard.push({ status: line.status, level: 'debug' }),
  info: (line: { readonly status: number }) => void heard.push({ status: line.status, level: 'info' }),
  warn: () => undefined,
  error: (facts: object) => process.stderr.write(`${JSON.stringify(facts)}\n`),
}
let web: Web

beforeAll(async () => {
  web = await start()
  return () => web.stop()
})

function start(env: NodeJS.ProcessEnv = {}): Promise<Web> {
  return startWeb(
    readConfig({ ...webSettings, DATABASE_URL: urlAs('model_gateway_cabinet', url), ...env }),
    quiet,
  )
}

async function receipt(id: string, authorization: string | undefined, from = web) {
  const response = await fetch(`http://127.0.0.1:${from.port}/v1/requests/${id}`, {
    headers: { ...(authorization === undefined ? {} : { authorization }), 'x-request-id': requestId },
  })
  const body = (await response.json()) as {
    readonly [field: string]: unknown
    readonly error: { readonly code: string }
  }
  return { status: response.status, headers: response.headers, body, code: body.error?.code }
}

const requestId = randomUUID()

/** A customer with one settled request. */
async function booked() {
  const customer = await createCustomer(pool)
  const entry = entryOf(customer, 12_345n)
  await postBatch(pool, [entry])
  const read = (key = customer.key) => receipt(entry.requestId, `Bearer ${key}`)
  return { ...customer, id: entry.requestId, read }
}

describe('a receipt', () => {
  test('is read with any key of its organization, and with no other', async () => {
    const { id, organizationId, read } = await booked()
    expect(await read()).toMatchObject({ status: 200, body: { id, cost_rub: '0.000012345' } })
    const second = await inTestScope(pool, (client) =>
      createKey(client, { organizationId, name: 'second', managedBy: 'cabinet' }, pepper),
    )
    expect((await read(second.secret)).status).toBe(200)
    const { key: strange } = await createCustomer(pool)
    expect(await read(strange)).toMatchObject({ status: 404, code: 'request_not_found' })
  })

  test('shows the current charge: a correction replaces the first one', async () => {
    const customer = await createCustomer(pool)
    const first = entryOf(customer, 500n, {
      chargeKind: 'released',
      record: recordOf({ outcome: 'swept', status: 499 }),
    })
    await postBatch(pool, [first])
    await postBatch(pool, [{ ...first, chargeKind: 'settled', costNano: 700n, record: recordOf() }])
    expect((await receipt(first.requestId, `Bearer ${customer.key}`)).body).toMatchObject({
      outcome: 'completed',
      cost_rub: '0.0000007',
    })
  })
})

describe('a key', () => {
  test('that is missing, malformed or unknown is 401 with the gateway’s codes and its shape', async () => {
    const { id } = await booked()
    const unknown = writeKey(shardOf('nobody'), randomBytes(32), pepper)
    for (const [authorization, code] of [
      [undefined, 'missing_api_key'],
      ['Basic eDp5', 'missing_api_key'],
      ['Bearer sk-gateway-nonsense', 'invalid_api_key'],
      [`Bearer ${unknown}`, 'invalid_api_key'],
    ] as const) {
      const { status, headers, body } = await receipt(id, authorization)
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(body.error).toMatchObject({
        code,
        type: 'authentication_error',
        source: 'client',
        param: null,
        request_id: requestId,
        doc_url: `${appUrl}/en/docs/errors#${code}`,
      })
    }
  })

  test('that was rotated out, revoked or has expired is 401; one in its grace time still reads', async () => {
    const rotated = await booked()
    const next = await inTestScope(pool, (client) => rotateKey(client, rotated.keyId, 3600, pepper))
    expect([(await rotated.read()).status, (await rotated.read(next.secret)).status]).toEqual([200, 200])
    await pool.query('update api_key_credentials set valid_until = now() where hash = $1', [
      hashKey(rotated.key as typeof next.secret, pepper),
    ])
    expect(await rotated.read()).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect((await rotated.read(next.secret)).status).toBe(200)
    await inTestScope(pool, (client) => rotateKey(client, rotated.keyId, 0, pepper))
    expect((await rotated.read(next.secret)).code).toBe('invalid_api_key')

    const revoked = await booked()
    await inTestScope(pool, (client) => revokeKey(client, revoked.keyId))
    expect(await revoked.read()).toMatchObject({ status: 401, code: 'invalid_api_key' })

    const expired = await booked()
    await pool.query('update api_keys set expires_at = now() where id = $1', [expired.keyId])
    expect(await expired.read()).toMatchObject({ status: 401, code: 'expired_api_key' })
  })

  test.each(['owner', 'admin', 'kubernetes'] as const)(
    'blocked by its %s is 403, until that is lifted',
    async (by) => {
      const { keyId, read } = await booked()
      await inTestScope(pool, (client) => blockKey(client, keyId, by))
      expect(await read()).toMatchObject({ status: 403, code: 'api_key_blocked' })
      await inTestScope(pool, (client) => unblockKey(client, keyId, by))
      expect((await read()).status).toBe(200)
    },
  )

  test('reads so many receipts a minute and no more; the next is 429 with Retry-After, other keys are not touched', async () => {
    const slow = await start({ CABINET_RECEIPTS_PER_MINUTE: '3' })
    onTestFinished(() => slow.stop())
    const [one, other] = [await booked(), await booked()]
    const statuses = []
    for (let n = 0; n < 7; n++) statuses.push((await receipt(one.id, `Bearer ${one.key}`, slow)).status)
    // Seven straddle at most one end of a minute.
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(6)
    const refused = await receipt(one.id, `Bearer ${one.key}`, slow)
    expect(refused).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await receipt(other.id, `Bearer ${other.key}`, slow)).status).toBe(200)
    await inTestScope(pool, (client) => blockKey(client, one.keyId, 'owner'))
    expect((await receipt(one.id, `Bearer ${one.key}`, slow)).status, 'not looked up').toBe(429)
  })

  test('made up, however often, is 401, takes nothing from others, and no line is logged', async () => {
    const { id, read } = await booked()
    heard.length = 0
    const answers = await Promise.all(Array.from({ length: 1_300 }, () => receipt(id, `Bearer ${madeUp()}`)))
    const codes = answers.map(({ code }) => code)
    expect(new Set(codes)).toEqual(new Set(['invalid_api_key']))
    expect(heard).toHaveLength(answers.length)
    expect(heard.every(({ level }) => level === 'debug')).toBe(true)
    expect((await read()).status).toBe(200)
    expect(heard.at(-1)).toEqual({ status: 200, level: 'info' })
  })

  test('with a wrong checksum or check is 401 without a query, even if Postgres is down; one that may be ours is then 503', async () => {
    const cut = await start({ DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' })
    onTestFinished(() => cut.stop())
    const made = writeKey(shardOf('nobody'), randomBytes(32), pepper)
    const withTypo = made.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    for (const key of [withTypo, madeUp()])
      expect(await receipt(randomUUID(), `Bearer ${key}`, cut)).toMatchObject({ status: 401 })
    expect(await receipt(randomUUID(), `Bearer ${made}`, cut)).toMatchObject({ status: 503 })
  })
})

/** A key written without knowing the pepper: only its checksum is right. */
function madeUp() {
  return writeKey(shardOf('nobody'), randomBytes(32), 'a pepper of somebody else, 32 letters')
}

test('a second route has its own refusals, limit and messages, and none of the first one', async () => {
  const { key } = await createCustomer(pool)
  const closed = createPool({ databaseUrl: 'postgres://nobody@127.0.0.1:9/none', applicationName: 'test' })
  onTestFinished(() => closed.end())
  const redis = connectRedis('redis://127.0.0.1:1', { name: 'test' })
  onTestFinished(() => redis.close())
  const handled: Record<string, WebRoute['handle']> = {
    missing: async () => ({ refusal: { code: 'unknown_url', message: 'No invoice has this number.' } }),
    away: async () => ({ body: await orUnavailable(closed.query('select')) }),
    wrong: () => Promise.reject(new Error('not said')),
    found: async ({ params }) => ({ body: params }),
  }
  const invoices: WebRoute = {
    method: 'GET',
    url: '/v1/invoices/:id',
    access: 'api_key',
    limit: { perMinute: 4, of: 'invoices' },
    messages: { unavailable: 'Invoices are unavailable.', failed: 'The invoice could not be read.' },
    handle: async (request) => handled[request.params.id ?? '']?.(request) ?? { body: {} },
  }
  const app = buildApp({
    sessions: userSessions(pool),
    metrics: createWebMetrics(),
    endpoints: [],
    trustedProxies: [],
    appOrigin: 'http://localhost',
    ...unthrottled,
    byKey: {
      pool,
      keyPepper: pepper,
      now: () => 0,
      routes: [receiptRoute({ pool, redis }, { perMinute: 1 }), invoices],
    },
    log: { ...quiet, error: () => undefined },
  })
  onTestFinished(() => app.close())
  const told = []
  for (const id of [...Object.keys(handled), 'one-too-many']) {
    const response = await app.inject({
      url: `/v1/invoices/${id}`,
      headers: { authorization: `Bearer ${key}` },
    })
    told.push([response.statusCode, response.json().error?.message ?? response.json()])
  }
  expect(told).toEqual([
    [404, 'No invoice has this number.'],
    [503, 'Invoices are unavailable.'],
    [500, 'The invoice could not be read.'],
    [200, { id: 'found' }],
    [429, expect.stringMatching(/^This API key is limited to 4 invoices per minute\. Retry in \d+ s\.$/)],
  ])
})

test('who registers more than 300 people in a day from one address proves more work for each: each may be given a trial', async () => {
  const counted: string[] = []
  const tally = async ({ perS, count: most }: Rate, caller: string) => {
    counted.push(`${most} in ${perS} s by ${caller}`)
    return perS === 86_400 ? 602 : 1
  }
  const app = buildApp({
    sessions: userSessions(pool),
    metrics: createWebMetrics(),
    log: quiet,
    trustedProxies: [],
    appOrigin: 'http://localhost',
    ...unthrottled,
    throttles: { ...noThrottles, tally },
    endpoints: [endpoint(register, async () => ({ problem: { code: 'internal' } }))],
  })
  onTestFinished(() => app.close())
  const answer = await app.inject({ method: 'POST', url: '/api/v1/auth/register', payload: registration() })
  expect([answer.statusCode, answer.json()]).toMatchObject([
    428,
    {
      code: 'proof_of_work_required',
      challenge: { parameters: { data: { operation: 'register', work: 2 } } },
    },
  ])
  expect(counted).toEqual(['10 in 60 s by 127.0.0.1', '300 in 86400 s by 127.0.0.1', '100 in 10 s by all'])
})

test('a connection idle for a minute is closed, so that unread exports do not stay open', async () => {
  const app = buildApp({
    sessions: userSessions(pool),
    metrics: createWebMetrics(),
    log: quiet,
    endpoints: [],
    trustedProxies: [],
    appOrigin: 'http://localhost',
    ...unthrottled,
  })
  onTestFinished(() => app.close())
  await app.ready()
  expect(app.server.timeout).toBe(60_000)
})

test('a change is answered whole, whatever version of it the caller has; a reading of that version is 304', async () => {
  const facts = { access: { to: 'anyone' }, url: '/api/v1/thing', answers: { 200: z.object({}) } } as const
  const handle = async () => ({ status: 200, body: {}, version: 'v' }) as const
  const endpoints = (['GET', 'PATCH'] as const).map((method) =>
    endpoint({ ...facts, operation: `${method}Thing`, summary: 'A thing', method }, handle),
  )
  const app = buildApp({
    sessions: userSessions(pool),
    metrics: createWebMetrics(),
    log: quiet,
    endpoints,
    trustedProxies: [],
    appOrigin: 'http://localhost',
    ...unthrottled,
  })
  onTestFinished(() => app.close())
  const told = []
  for (const method of ['GET', 'PATCH'] as const) {
    const { statusCode } = await app.inject({
      method,
      url: '/api/v1/thing',
      headers: { 'if-none-match': '"v"' },
    })
    told.push(statusCode)
  }
  expect(told).toEqual([304, 200])
})

test('an address without anything behind it is a problem of RFC 9457', async () => {
  const response = await fetch(`http://127.0.0.1:${web.port}/v1/nothing`)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    404,
    expect.stringContaining('application/problem+json'),
  ])
  expect(await response.json()).toMatchObject({ status: 404 })
})

test('it serves its health and metrics on a separate port', async () => {
  const admin = `http://127.0.0.1:${web.adminPort}`
  expect((await fetch(`${admin}/readyz`)).status).toBe(200)
  expect(await (await fetch(`${admin}/metrics`)).text()).toContain(
    'model_gateway_cabinet_request_duration_seconds',
  )
})

test('what is mounted gets its requests unread, from the address that calls, and no line of a log has their query', async () => {
  const lines: string[] = []
  const hear = (facts: object) => void lines.push(JSON.stringify(facts))
  const mounted = await startWeb(
    readConfig({ ...webSettings, DATABASE_URL: urlAs('model_gateway_cabinet', url) }),
    { debug: hear, info: hear, warn: hear, error: hear },
    {
      mounts: [
        {
          path: '/webhooks/',
          async answer(asked, response) {
            const { method, url: path, socket } = asked
            response.end(JSON.stringify([method, path, socket.remoteAddress, await text(asked)]))
          },
        },
      ],
    },
  )
  onTestFinished(() => mounted.stop())
  const dispatcher = new Agent({ localAddress: '127.0.0.7' })
  onTestFinished(() => dispatcher.close())
  const ask = async (path: string, method: 'POST' | 'PUT') => {
    const { body } = await request(`http://127.0.0.1:${mounted.port}${path}`, {
      dispatcher,
      method,
      body: 'not json',
      headers: { 'x-forwarded-for': '127.0.0.1' },
    })
    return body.json()
  }
  const path = '/webhooks/a/b?secret=of-the-query'
  for (const method of ['POST', 'PUT'] as const)
    expect(await ask(path, method)).toEqual([method, path, '127.0.0.7', 'not json'])
  expect(await ask('/webhooks', 'POST')).toMatchObject({ code: 'not_found' })
  expect(lines.join()).toContain('/webhooks/*')
  expect(lines.join()).not.toContain('of-the-query')
})
