import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { listedAddress, startReceiver, webhookOf } from '../support/money-in.ts'
import { databaseOfThisFile } from '../support/postgres.ts'

// Each caller and each proxy has its own address: Linux lets a client use any of 127.0.0.0/8. The receiver listens on
// IPv6 and IPv4 at once, so that it sees them as ::ffff:127.0.0.x.
const [stranger, trusted, alsoTrusted, untrusted] = [
  '127.0.0.3',
  '127.0.0.4',
  '127.0.0.5',
  '127.0.0.6',
] as const

const database = await databaseOfThisFile()
const [behindProxies, believingNobody] = await Promise.all([
  startReceiver(database, { WEBHOOK_HOST: '::', TRUSTED_PROXY_CIDRS: `${trusted},${alsoTrusted}/32` }),
  startReceiver(database, { WEBHOOK_HOST: '::' }),
])
afterAll(() => Promise.all([behindProxies.kill(), believingNobody.kill()]))

/** What a proxy makes of `X-Forwarded-For`. @param peer who called it, as it sees him */
type Custom = (given: string | undefined, peer: string) => string | string[] | undefined

const appends: Custom = (given, peer) => (given === undefined ? peer : `${given}, ${peer}`)
/** In a separate header line, like some proxies. */
const addsLine: Custom = (given, peer) => (given === undefined ? peer : [given, peer])
const replaces: Custom = (_given, peer) => peer
const says: (lie: string) => Custom = (lie) => () => lie
const prepends: (lie: string) => Custom = (lie) => (given, peer) =>
  [lie, given, peer].filter(Boolean).join(', ')
const passesOn: Custom = (given) => given

type Hop = { readonly from: string; readonly custom: Custom }

/** A proxy that forwards calls from its own address. Returns the address that it listens on. */
async function startProxy(to: string, { from, custom }: Hop): Promise<string> {
  const target = new URL(to)
  const proxy = createServer((incoming, answer) => {
    const forwarded = custom(headerOf(incoming), incoming.socket.remoteAddress ?? '')
    const { 'x-forwarded-for': _, ...headers } = incoming.headers
    const outgoing = request(
      {
        host: target.hostname,
        port: target.port,
        path: incoming.url,
        method: incoming.method,
        localAddress: from,
        agent: false,
        headers: { ...headers, ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) },
      },
      (received) => received.pipe(answer.writeHead(received.statusCode ?? 0)),
    )
    incoming.pipe(outgoing)
  }).listen(0, '::')
  await once(proxy, 'listening')
  afterAll(() => proxy.close())
  const here = new URL(to)
  here.port = String((proxy.address() as AddressInfo).port)
  return here.href
}

function headerOf({ headers }: IncomingMessage): string | undefined {
  const given = headers['x-forwarded-for']
  return Array.isArray(given) ? given.join(', ') : given
}

/** Notifies from an address through proxies, the first of which is the one that is called. */
async function statusFrom(
  from: string,
  options: { readonly claim?: string; readonly through?: readonly Hop[]; readonly to?: string } = {},
): Promise<number> {
  const { claim, through = [], to = webhookOf(behindProxies) } = options
  let url = to
  for (const hop of through.toReversed()) url = await startProxy(url, hop)
  const { hostname, port, pathname, search } = new URL(url)
  const headers = {
    'content-type': 'application/json',
    ...(claim === undefined ? {} : { 'x-forwarded-for': claim }),
  }
  const calling = request({
    host: hostname,
    port,
    path: `${pathname}${search}`,
    method: 'POST',
    headers,
    localAddress: from,
    agent: false,
  })
  calling.end('{"type":"notification","event":"payment.succeeded","object":{"id":"1"}}')
  const [answer] = (await once(calling, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode ?? 0
}

const inboxCount = async () =>
  (await database.pool.query('select count(*)::int as count from webhook_inbox')).rows[0].count

/** Whatever passed was stored, and nothing else was. */
async function expectPassed(call: () => Promise<number>, passes: boolean): Promise<void> {
  const before = await inboxCount()
  expect(await call()).toBe(passes ? 200 : 403)
  expect(await inboxCount()).toBe(before + Number(passes))
}

test('the listed address passes by itself, whatever it claims, and no other does, whatever it claims', async () => {
  await expectPassed(() => statusFrom(listedAddress), true)
  await expectPassed(() => statusFrom(listedAddress, { claim: stranger }), true)
  await expectPassed(() => statusFrom(stranger), false)
  for (const claim of [
    listedAddress,
    `::ffff:${listedAddress}`,
    `${listedAddress}, ${trusted}`,
    `${trusted}, ${listedAddress}`,
  ])
    await expectPassed(() => statusFrom(stranger, { claim }), false)
})

const honest: readonly (readonly [string, Custom])[] = [
  ['appends to', appends],
  ['adds a line to', addsLine],
  ['replaces', replaces],
]

test.each(honest)(
  'the header of a trusted proxy that %s names the caller, and no caller can forge it',
  async (_, custom) => {
    const through = [{ from: trusted, custom }]
    await expectPassed(() => statusFrom(listedAddress, { through }), true)
    await expectPassed(() => statusFrom(listedAddress, { through, claim: stranger }), true)
    await expectPassed(() => statusFrom(stranger, { through }), false)
    for (const claim of [
      listedAddress,
      `::ffff:${listedAddress}`,
      `${listedAddress}, ${alsoTrusted}`,
      'unknown',
    ])
      await expectPassed(() => statusFrom(stranger, { through, claim }), false)
  },
)

test('the right-most address that is no trusted proxy counts, through several of them', async () => {
  const through = [alsoTrusted, trusted].map((from) => ({ from, custom: appends }))
  await expectPassed(() => statusFrom(listedAddress, { through }), true)
  await expectPassed(() => statusFrom(listedAddress, { through, claim: stranger }), true)
  await expectPassed(() => statusFrom(stranger, { through, claim: listedAddress }), false)
  await expectPassed(() => statusFrom(stranger, { through, claim: `${listedAddress}, ${trusted}` }), false)
})

const lies: readonly (readonly [string, Custom])[] = [
  ['writes the listed address', says(listedAddress)],
  ['writes it as IPv6', says(`::ffff:${listedAddress}`)],
  ['puts it before the caller', prepends(listedAddress)],
  ['puts it before a trusted proxy', says(`${listedAddress}, ${trusted}`)],
  ['says it twice', says(`${listedAddress}, ${listedAddress}`)],
  ['passes on what the caller claims', passesOn],
]

test.each(lies)(
  'an untrusted proxy that %s lets no caller in, by itself or before a trusted one',
  async (_, custom) => {
    const liar = { from: untrusted, custom }
    for (const through of [[liar], [liar, { from: trusted, custom: appends }]])
      for (const from of [stranger, listedAddress])
        await expectPassed(() => statusFrom(from, { through, claim: listedAddress }), false)
  },
)

test('without TRUSTED_PROXY_CIDRS no header is read: a proxy is who calls', async () => {
  const to = webhookOf(believingNobody)
  await expectPassed(() => statusFrom(listedAddress, { to }), true)
  await expectPassed(() => statusFrom(listedAddress, { to, claim: stranger }), true)
  await expectPassed(
    () => statusFrom(listedAddress, { to, through: [{ from: trusted, custom: appends }] }),
    false,
  )
  await expectPassed(() => statusFrom(stranger, { to, claim: listedAddress }), false)
})
