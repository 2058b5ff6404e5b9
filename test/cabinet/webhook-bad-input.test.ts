import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { isSlowRun } from '../support/environment.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { startProcess } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { createCaller } from '../support/webhook-caller.ts'

const usual = test.skipIf(isSlowRun)

// A real receiver, called over connections that stay open, as the provider keeps them.
const [listed, stranger] = ['127.0.0.2', '127.0.0.3']
const secret = 'secret-of-the-webhook-in-these-tests'
const database = await databaseOfThisFile()
const { pool } = database
const lines: string[] = []
const receiver = await startProcess(
  'cabinet/webhook/main.ts',
  {
    DATABASE_URL: urlAs('model_gateway_webhook', database.url),
    WEBHOOK_SECRET: secret,
    WEBHOOK_ALLOWED_CIDRS: listed,
    LOG_LEVEL: 'trace',
    WEBHOOK_PORT: '0',
    WEBHOOK_ADMIN_PORT: '0',
    WEBHOOK_HOST: '127.0.0.1',
  },
  (line) => void lines.push(line),
)
const caller = createCaller(new URL(receiver.baseUrl).origin)
afterAll(async () => {
  await caller.close()
  await receiver.kill()
})

const path = '/webhooks/yookassa'
const opened = `${path}?secret=${secret}`
const bodyBytesMax = 64 * 1024

/** The status of a call. By default a notification from a listed address with the right secret. */
const call = (options: Parameters<typeof caller.call>[0]) =>
  caller.call({ path: opened, from: listed, body: JSON.stringify(hint()), ...options })

const hint = () => ({ type: 'notification', event: 'payment.canceled', object: { id: randomUUID() } })

async function inboxCount(): Promise<number> {
  return (await pool.query('select count(*)::int as count from webhook_inbox')).rows[0].count
}

/** A notification of so many bytes. */
function sized(bytes: number): string {
  const bare = JSON.stringify({ ...hint(), padding: '' })
  return JSON.stringify({ ...hint(), padding: 'x'.repeat(bytes - bare.length) })
}

const encoded = [...secret].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join('')

usual.each<readonly [what: string, status: number, options: Parameters<typeof caller.call>[0]]>([
  ['another address', 403, { from: stranger }],
  [
    'another address that claims the listed one',
    403,
    { from: stranger, headers: { 'x-forwarded-for': listed } },
  ],
  ['no secret', 401, { path }],
  ['an empty secret', 401, { path: `${path}?secret=` }],
  ['a secret that goes on', 401, { path: `${opened}x` }],
  ['a secret that ends too early', 401, { path: opened.slice(0, -1) }],
  ['the secret twice', 401, { path: `${opened}&secret=${secret}` }],
  ['the secret and an empty one', 401, { path: `${opened}&secret=` }],
  ['the secret under another name', 401, { path: opened.replace('secret=', 'Secret=') }],
  ['the secret in the body', 401, { path, body: `secret=${secret}` }],
  ['another provider', 404, { path: opened.replace('yookassa', 'stripe') }],
  ['the address and more', 404, { path: opened.replace('yookassa', 'yookassa/') }],
  ['GET', 405, { method: 'GET', body: undefined }],
  ['PUT', 405, { method: 'PUT' }],
  ['no body', 400, { body: '' }],
  ['no JSON', 400, { body: 'not json' }],
  ['a form', 400, { body: 'event=payment.succeeded' }],
  ['a list', 400, { body: '[]' }],
  ['null', 400, { body: 'null' }],
  ['no type', 400, { body: JSON.stringify({ ...hint(), type: undefined }) }],
  ['an empty event', 400, { body: JSON.stringify({ ...hint(), event: '' }) }],
  ['an event too long', 400, { body: JSON.stringify({ ...hint(), event: 'x'.repeat(129) }) }],
  ['an id that is a number', 400, { body: JSON.stringify({ ...hint(), object: { id: 1 } }) }],
  ['U+0000', 400, { body: JSON.stringify({ ...hint(), padding: '\0' }) }],
  ['half a character', 400, { body: JSON.stringify({ ...hint(), padding: '\ud800' }) }],
  ['brackets without end', 400, { body: '['.repeat(30_000) }],
  [
    'JSON too deep',
    400,
    { body: JSON.stringify(hint()).replace('}', `,"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`) },
  ],
  ['64 KiB and a byte', 413, { body: sized(bodyBytesMax + 1) }],
  ['64 KiB and a byte, of unsaid length', 413, { body: Readable.from([sized(bodyBytesMax + 1)]) }],
])('%s is answered %i, and nothing is stored', async (_, status, options) => {
  const before = await inboxCount()
  expect(await call(options)).toBe(status)
  expect(await inboxCount()).toBe(before)
})

usual.each<readonly [what: string, options: Parameters<typeof caller.call>[0]]>([
  ['the secret percent-encoded', { path: `${path}?secret=${encoded}` }],
  ['another parameter beside it', { path: `${opened}&a=b` }],
  ['64 KiB', { body: sized(bodyBytesMax) }],
  ['64 KiB of unsaid length', { body: Readable.from([sized(bodyBytesMax)]) }],
  ['an event that nobody acts on', { body: JSON.stringify({ ...hint(), event: 'payout.succeeded' }) }],
  ['another type of content', { headers: { 'content-type': 'text/plain' } }],
])('%s is fine: the notification is stored', async (_, options) => {
  const before = await inboxCount()
  expect(await call(options)).toBe(200)
  expect(await inboxCount()).toBe(before + 1)
})

const seed = isSlowRun ? 120 : 20
const fuzzedCount = isSlowRun ? 8_000 : 800
const laneCount = 16

/** `usual` so many times as often as `odd`. */
const mostly = <Value>(weight: number, usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>) =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })

const oddWord = fc.constantFrom(
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    'x\udfff',
    '\ufeff',
    '👩‍🚀',
    '\u202ekcab',
    "'; drop table payments; --",
  ],
  ...['x'.repeat(128), 'x'.repeat(129), '👩'.repeat(64), '👩'.repeat(65), '__proto__', '../..'],
)
const oddText = fc.oneof(
  fc.constantFrom(
    ...['null', 'true', '-0', '1e400', '1e999999', '-1E+2', '{}', '[]', '"\\u0000"', '"\\ud800"'],
  ),
  fc.constantFrom(...['', ',', '}', 'NaN', "'x'", '\u2028', '01', '"\\x"', '"a\nb"']),
  fc.constantFrom(5, 500, 5_000).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  oddWord.map((word) => JSON.stringify(word)),
  fc.json(),
)
const wordOf = (...words: readonly string[]) =>
  mostly(
    4,
    fc.constantFrom(...words).map((word) => JSON.stringify(word)),
    oddText,
  )

/** Written as text: names that come twice and numbers that no program writes are among them. */
const nearlyNotification = fc
  .record({
    type: wordOf('notification'),
    event: wordOf('payment.succeeded', 'payment.canceled', 'refund.succeeded', 'payout.succeeded'),
    id: mostly(
      8,
      fc.uuid().map((id) => JSON.stringify(id)),
      oddText,
    ),
    more: mostly(
      2,
      fc.constant(''),
      oddText.map((text) => `,"more":${text}`),
    ),
    again: mostly(
      8,
      fc.constant(''),
      oddText.map((text) => `,"object":${text}`),
    ),
    cut: mostly(12, fc.constant(undefined), fc.nat({ max: 60 })),
  })
  .map(({ type, event, id, more, again, cut }) =>
    `{"type":${type},"event":${event},"object":{"id":${id}${more}}${again}}`.slice(0, cut),
  )

const fuzzedBody: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 6, arbitrary: nearlyNotification },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
)
const fuzzedCall = fc.record({
  body: fuzzedBody,
  from: mostly(20, fc.constant(listed), fc.constant(stranger)),
  path: mostly(
    20,
    fc.constant(opened),
    fc.webQueryParameters().map((query) => `${path}?${query}`),
  ),
})
type FuzzedCall = typeof fuzzedCall extends fc.Arbitrary<infer Call> ? Call : never

/** Written from scratch, independent of the receiver. */
function isNotification(body: string | Buffer): boolean {
  try {
    const { type, event, object } = JSON.parse(body.toString())
    const isWord = (word: unknown) => typeof word === 'string' && word !== '' && [...word].length <= 128
    return type === 'notification' && isWord(event) && isWord(object.id)
  } catch {
    return false
  }
}

async function canPostgresHold(body: string | Buffer): Promise<boolean> {
  return pool.query('select $1::jsonb', [body.toString()]).then(
    () => true,
    () => false,
  )
}

/** The required response. Stored values were values that Postgres can store. */
async function expectedOf({ body, from, path: called }: FuzzedCall, status: number): Promise<number> {
  if (from !== listed) return 403
  if (called !== opened) return 401
  return isNotification(body) && (status === 200 || (await canPostgresHold(body))) ? 200 : 400
}

test('of thousands of fuzzed calls, those that are notifications are stored, and no other; none is answered with 5xx', async () => {
  const before = await inboxCount()
  const calls = fc.sample(fuzzedCall, { seed, numRuns: fuzzedCount })
  const counts = new Map<number, number>()
  let next = 0
  const lane = async () => {
    for (let one = calls[next++]; one !== undefined; one = calls[next++]) {
      const status = await call(one)
      counts.set(status, (counts.get(status) ?? 0) + 1)
      const expected = await expectedOf(one, status)
      if (status !== expected) expect({ ...one, status }).toEqual({ ...one, status: expected })
    }
  }
  await Promise.all(Array.from({ length: laneCount }, lane))
  expect([...counts.keys()].toSorted()).toEqual([200, 400, 401, 403])
  for (const count of counts.values()) expect(count).toBeGreaterThan(fuzzedCount / 100)
  expect(await inboxCount()).toBe(before + (counts.get(200) ?? 0))
}, 60_000)

usual('what was refused is counted and logged without saying what it said, and nothing failed', async () => {
  for (const outcome of ['malformed', 'wrong_secret', 'wrong_address', 'too_large', 'wrong_method'])
    expect(await readMetric(receiver, `webhook_calls_total{outcome="${outcome}"}`)).toBeGreaterThan(0)
  expect(await readMetric(receiver, 'webhook_calls_total{outcome="failed"}')).toBe(0)
  expect(lines.join('\n')).toContain('webhook calls rejected')
  for (const line of lines) {
    expect(line).not.toContain('notifications not stored')
    expect(line).not.toContain(secret)
  }
})

usual(
  'every answer has the security headers, and a body that does not arrive is not waited for beyond 15 s',
  async () => {
    const answer = await fetch(new URL(opened, receiver.baseUrl), { method: 'GET' })
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    const { port } = new URL(receiver.baseUrl)
    const slow = Array.from({ length: 20 }, () =>
      connect({ port: Number(port), host: '127.0.0.1', localAddress: listed }),
    )
    const startedAtMs = performance.now()
    for (const socket of slow) {
      socket.on('error', () => undefined).resume()
      socket.write(`POST ${opened} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{`)
    }
    await Promise.all(slow.map((socket) => once(socket, 'close')))
    expect(performance.now() - startedAtMs).toBeLessThan(19_000)
  },
  40_000,
)

usual(
  'a method that is not POST is 405 with the security headers, whatever it is, and so is a tunnel',
  async () => {
    for (const method of METHODS.filter((name) => name !== 'POST')) {
      const socket = connect(Number(new URL(receiver.baseUrl).port), '127.0.0.1')
      const target = method === 'CONNECT' ? 'x:443' : path
      socket.write(`${method} ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      const answer = await text(socket)
      expect([method, answer.slice(0, 12)]).toEqual([method, 'HTTP/1.1 405'])
      expect(answer).toMatch(/\r\nx-content-type-options: nosniff\r\n/)
      expect(answer).toMatch(/\r\nallow: POST\r\n/)
    }
  },
)
