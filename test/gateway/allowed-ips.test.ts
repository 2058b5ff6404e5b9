import { expect, test, vi } from 'vitest'
import { readRefusals } from '#core/admission/listed-refusals'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'

const proxy = '127.0.0.2'
const { connection, gateway, createKey, send } = await loneGatewayOfThisFile({
  TRUSTED_PROXY_CIDRS: `${proxy},10.0.0.0/8`,
})
type Sent = Parameters<typeof send>[0]

const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] })
const codeOf = ({ status, text }: Awaited<ReturnType<typeof send>>) =>
  status === 200 ? '200' : `${status} ${JSON.parse(text).error.code ?? JSON.parse(text).error.type}`
const refused = '403 ip_not_allowed'
const receipt = { method: 'GET', path: '/v1/requests/req_1' }

/** Names in Redis of what a key has used and of requests. */
async function usedNames(): Promise<readonly string[]> {
  return (await connection.redis.keys('mg:*'))
    .filter((name) => /:(use|request|due|spend)/.test(name))
    .toSorted()
}

test.each([
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/responses'],
  ['POST', '/v1/embeddings'],
  ['POST', '/v1/messages'],
  ['POST', '/v1/messages/count_tokens'],
  ['GET', '/v1/models'],
  ['GET', '/v1/models/demo/echo'],
  ['GET', '/v1/key'],
  ['GET', '/v1/responses/resp_1'],
  ['DELETE', '/v1/responses/resp_1'],
  ['GET', '/v1/responses/resp_1/input_items'],
  ['GET', '/v1/requests/req_1'],
])(
  '%s %s from an address outside the list is 403 in its format, and nothing is held or counted',
  async (method, path) => {
    const key = await createKey({ allowedIps: ['127.0.0.9', '2001:db8::/32'] })
    const sent = method === 'POST' ? body : ''
    const before = await usedNames()
    const answer = await send({ key: key.key, method, path, body: sent })
    expect(answer.status).toBe(403)
    const isMessages = path.startsWith('/v1/messages')
    const { error, type } = JSON.parse(answer.text)
    expect(error).toMatchObject({ type: 'permission_error', message: expect.stringContaining('127.0.0.1.') })
    if (isMessages) expect(type).toBe('error')
    else expect(error).toMatchObject({ code: 'ip_not_allowed', source: 'client', param: null })
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
    expect(await usedNames()).toEqual(before)
    const allowed = await send({ key: key.key, method, path, body: sent, from: '127.0.0.9' })
    expect(allowed.text).not.toContain('permission_error')
  },
)

test('a client cannot claim an address: only what a trusted proxy adds counts', async () => {
  const { key } = await createKey({ allowedIps: ['203.0.113.7', '2001:db8::/32'] })
  const from = async (sent: Pick<Sent, 'from' | 'headers'>) => codeOf(await send({ key, body, ...sent }))
  for (const name of ['x-forwarded-for', 'x-real-ip', 'true-client-ip', 'cf-connecting-ip', 'x-client-ip'])
    expect(await from({ headers: { [name]: '203.0.113.7' } }), name).toBe(refused)
  expect(await from({ headers: { forwarded: 'for=203.0.113.7' } })).toBe(refused)
  const by = (forwarded: string) => from({ from: proxy, headers: { 'x-forwarded-for': forwarded } })
  expect(await by('203.0.113.7')).toBe('200')
  expect(await by('198.51.100.9, 203.0.113.7')).toBe('200')
  expect(await by('198.51.100.9,203.0.113.7, 10.1.1.1')).toBe('200')
  expect(await by('::ffff:203.0.113.7')).toBe('200')
  expect(await by('2001:DB8:0:0::1')).toBe('200')
  for (const forged of [
    '203.0.113.7, 198.51.100.9',
    '203.0.113.7, 127.0.0.1',
    '203.0.113.7, x',
    '',
    'x',
    '203.0.113.7,',
  ])
    expect(await by(forged), forged).toBe(refused)
  expect(await from({ from: proxy })).toBe(refused)
})

test('an address that a proxy does not name is unknown: not even a list with all proxies allows it', async () => {
  const { key } = await createKey({ allowedIps: ['127.0.0.0/8', '10.0.0.0/8'] })
  const by = async (forwarded: string) =>
    send({ key, body, from: proxy, headers: { 'x-forwarded-for': forwarded } })
  for (const unread of ['', 'unknown', '10.1.1.1', 'unknown, 10.1.1.1']) {
    const answer = await by(unread)
    expect(codeOf(answer), unread).toBe(refused)
    expect(answer.text).toContain('your address is unknown')
  }
  expect(codeOf(await send({ key, body, from: proxy }))).toBe(refused)
  expect(codeOf(await by('127.0.0.1:51234'))).toBe('200')
})

test('a change of the list is in force at the next request, and each list is read once', async () => {
  const key = await createKey({ allowedIps: ['127.0.0.1'] })
  const ask = async () => codeOf(await send({ key: key.key, body }))
  const admits = async () => {
    const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text()
    return Number(
      /redis_script_duration_seconds_count\{[^}]*script="admit"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0,
    )
  }
  const before = await admits()
  expect([await ask(), await ask(), await ask()]).toEqual(['200', '200', '200'])
  expect((await admits()) - before).toBe(4)
  await key.change({ allowedIps: ['127.0.0.9', '127.0.0.10'] }, 2n)
  expect(await ask()).toBe(refused)
  await key.change({ allowedIps: ['127.0.0.0/29'] }, 3n)
  expect(await ask()).toBe('200')
  await key.change({ allowedIps: null }, 4n)
  expect(await ask()).toBe('200')
  await key.change({ allowedIps: ['0.0.0.0/0'] }, 5n)
  expect(await ask()).toBe('200')
  await key.change({ allowedIps: ['::/0'] }, 6n)
  expect(await ask()).toBe(refused)
})

test('who holds the key elsewhere learns nothing of it and uses nothing up, whatever the body', async () => {
  const strangers = { allowedIps: ['127.0.0.9'] }
  for (const changes of [
    { ...strangers, state: 'blocked', blockedBy: 'owner' },
    { ...strangers, expiresAtMs: 1 },
    { ...strangers, balanceNano: 0n },
    { ...strangers, allowedModels: ['other/*'] },
    { ...strangers, rpm: 0 },
  ] as const) {
    const { key } = await createKey(changes)
    expect(codeOf(await send({ key, body }))).toBe(refused)
    expect(codeOf(await send({ key, body: '{' }))).toBe(refused)
    expect(codeOf(await send({ key, ...receipt }))).toBe(refused)
  }
  const { key } = await createKey({ ...strangers, rpm: 1 })
  for (const large of ['{', body, `${body}${' '.repeat(40_000)}`])
    expect(codeOf(await send({ key, body: large }))).toBe(refused)
  expect(codeOf(await send({ key, body, from: '127.0.0.9' }))).toBe('200')
  const revoked = await createKey({ ...strangers, state: 'revoked' })
  expect(codeOf(await send({ key: revoked.key, body }))).toBe('401 invalid_api_key')
})

test.each([
  ['a request', { body }],
  ['a receipt', receipt],
])('the rejection of %s is listed for the organization, with the address', async (_, sent) => {
  const { key, keyId, organizationId } = await createKey({ allowedIps: ['127.0.0.9'] })
  const headers = { 'x-forwarded-for': '2001:db8::5' }
  const answer = await send({ key, ...sent, from: proxy, headers })
  const requestId = answer.headers['x-gateway-request-id']
  await vi.waitFor(async () =>
    expect(await readRefusals(connection, organizationId)).toMatchObject([
      { requestId, keyId, code: 'ip_not_allowed', reason: 'ip_not_allowed', ip: '2001:db8::5', limit: null },
    ]),
  )
})
