import { Redis } from 'ioredis'
import { expect, test, vi } from 'vitest'
import { startRedis } from '#standalone/redis'
import { databaseOfThisFile } from '../support/postgres.ts'
import { readRefusals, redisLogins, redisUrlOf } from '../support/redis-logins.ts'
import { signedIn } from '../support/signed-in.ts'
import { type CallOptions, startTestWeb, webOfThisFile } from '../support/web.ts'
import { appUrl } from '../support/web-settings.ts'

const database = await databaseOfThisFile()
const web = await webOfThisFile(database, { TRUSTED_PROXY_CIDRS: '127.0.0.0/8' })
const estimate = { body: { model: 'shop/none', input_tokens: 1 } }

test('a problem is RFC 9457, with a request id, in the language that is preferred', async () => {
  const { status, headers, body } = await web.call('POST', '/pricing/estimate', estimate)
  expect([status, headers.get('content-type')]).toEqual([
    404,
    expect.stringContaining('application/problem+json'),
  ])
  expect(body).toEqual({
    type: 'urn:model-gateway:problem:not_found',
    title: 'Не найдено',
    status: 404,
    code: 'not_found',
    detail: 'Ресурс не найден, или у вас нет к нему доступа.',
    request_id: headers.get('x-request-id'),
    doc_url: `${appUrl}/docs/cabinet-errors#not_found`,
  })
  const english = await web.call('POST', '/pricing/estimate', {
    ...estimate,
    headers: { 'accept-language': 'en' },
  })
  expect(english.body).toMatchObject({
    title: 'Not found',
    doc_url: `${appUrl}/en/docs/cabinet-errors#not_found`,
  })
})

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['another origin', { origin: 'https://evil.example' }],
  ['nobody knows where, with a session', { cookie: '__Host-model_gateway_session=x' }],
])('what is sent from %s changes nothing', async (_, headers) => {
  const { status, body } = await web.call('POST', '/pricing/estimate', { ...estimate, headers })
  expect([status, body.code]).toEqual([403, 'cross_site_request'])
})

test.each([
  ['a program without a browser’s headers', {}],
  ['our own page', { 'sec-fetch-site': 'same-origin', origin: appUrl }],
])('%s is heard', async (_, headers) => {
  expect((await web.call('POST', '/pricing/estimate', { ...estimate, headers })).status).toBe(404)
})

test('before sign-in a page learns where clients call, what may be paid, and what is agreed to', async () => {
  const { status, headers, body } = await web.call('GET', '/config')
  expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=60'])
  expect(body).toEqual({
    gateway_base_url: 'http://localhost:8080/v1',
    top_up: null,
    documents: ['offer', 'personal_data'].map((kind) => ({
      kind,
      version: expect.stringMatching(/^2\d{3}-/),
    })),
  })
  const shop = { YOOKASSA_SHOP_ID: '1', YOOKASSA_SECRET_KEY: 'test_of_config', TOP_UP_MAX_RUB: '5000' }
  await using paid = await startTestWeb(database, shop)
  expect((await paid.call('GET', '/config')).body.top_up).toMatchObject({ min_rub: '100', max_rub: '5000' })
})

test('a model that the database cannot store is refused', async () => {
  const { status, body } = await web.call('POST', '/pricing/estimate', {
    body: { ...estimate.body, model: 'a\0b' },
  })
  expect([status, body.errors[0].path]).toEqual([422, 'model'])
})

test('a body that is no JSON by its type is refused', async () => {
  const headers = { 'content-type': 'text/plain' }
  const { status, body } = await web.call('POST', '/pricing/estimate', { ...estimate, headers })
  expect([status, body.code]).toEqual([415, 'unsupported_media_type'])
})

test.each(['GET', 'POST', 'PATCH', 'DELETE'])(
  '%s of an address of administration is not found in this process',
  async (method) => {
    for (const path of ['/admin/nothing', '/admin/users', '/admin/audit']) {
      const { status, body } = await web.call(method, path)
      expect([status, body.code]).toEqual([404, 'not_found'])
    }
  },
)

test('an address that cannot be read is answered like every other mistake', async () => {
  const { status, headers, body } = await web.call('GET', '/keys/%ff')
  expect([status, body.code, body.request_id]).toEqual([
    400,
    'malformed_request',
    headers.get('x-request-id'),
  ])
  expect(headers.get('content-type')).toContain('application/problem+json')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test('an unknown id of any length is not found', async () => {
  const { cookie } = await signedIn(database.pool)
  for (const length of [99, 101, 300, 8_000])
    expect((await web.call('GET', `/keys/${'a'.repeat(length)}`, { cookie })).status).toBe(404)
})

test('no answer may be framed, sniffed or kept', async () => {
  const { headers } = await web.call('POST', '/pricing/estimate', estimate)
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'strict-transport-security': expect.stringContaining('max-age='),
  })
})

test('an address that calls too often waits, and no other one does', async () => {
  const from = (address: string) =>
    web.call('POST', '/pricing/estimate', { ...estimate, headers: { 'x-forwarded-for': address } })
  const calls = await Promise.all(
    Array.from({ length: 620 }, (_, at) => from(`2001:db8:1:2::${at.toString(16)}`)),
  )
  const refused = calls.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(20)
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await from('2001:db8:1:3::1')).status).toBe(404)
})

test('callers without a session use up nothing of the limit of those who have one', async () => {
  const change = (address: string, options: CallOptions = {}) =>
    web.call('POST', '/auth/password/change', {
      body: {},
      headers: { 'x-forwarded-for': address },
      ...options,
    })
  const strangers = await Promise.all(Array.from({ length: 320 }, (_, at) => change(`203.0.113.${at % 200}`)))
  expect(new Set(strangers.map(({ status }) => status))).toEqual(new Set([401]))
  const { cookie } = await signedIn(database.pool)
  expect((await change('198.51.100.1', { cookie })).body.code).toBe('validation_failed')
})

test('the header of an untrusted proxy is ignored', async () => {
  await using strict = await startTestWeb(database)
  const answers = await Promise.all(
    Array.from({ length: 610 }, (_, at) =>
      strict.call('POST', '/pricing/estimate', {
        ...estimate,
        headers: { 'x-forwarded-for': `203.0.113.${at % 250}` },
      }),
    ),
  )
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(10)
})

test('throttles count over replicas, through Redis', async () => {
  await using redis = await startRedis({ appendonly: 'no', logins: redisLogins })
  const env = { REDIS_URL: redisUrlOf.cabinet(redis.url) }
  await using one = await startTestWeb(database, env)
  await using other = await startTestWeb(database, env)
  await untilConnected(redis.url, 2)
  const statuses = await Promise.all(
    Array.from(
      { length: 605 },
      async (_, at) =>
        (await (at % 2 === 0 ? one : other).call('POST', '/pricing/estimate', estimate)).status,
    ),
  )
  expect(statuses.filter((status) => status === 429)).toHaveLength(5)
  expect(await readRefusals(redis.url)).toEqual([])
})

test('while Postgres is down the answer is 503, with a session and without one', async () => {
  await using lone = await startTestWeb(database, { DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  const asked = await Promise.all([
    lone.call('POST', '/pricing/estimate', estimate),
    lone.call('GET', '/me', { cookie: '__Host-model_gateway_session=x' }),
  ])
  expect(asked.map(({ status, body }) => [status, body.code])).toEqual([
    [503, 'service_unavailable'],
    [503, 'service_unavailable'],
  ])
})

/** Until then each process counts by itself. */
async function untilConnected(redisUrl: string, count: number): Promise<void> {
  const redis = new Redis(redisUrl)
  await vi.waitFor(async () => {
    const clients = String(await redis.client('LIST'))
    expect(clients.split('name=model-gateway-cabinet ')).toHaveLength(count + 1)
  })
  redis.disconnect()
}
