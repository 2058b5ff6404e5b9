import { expect, test, vi } from 'vitest'
import { listedMs, readRefusals } from '#core/admission/listed-refusals'
import { refusedName } from '#core/redis/shard'
import { loneGatewayOfThisFile, madeUpKeyBeside, unknownKeyBeside } from '../support/lone-gateway.ts'

const { connection, createKey, send, scriptCalls } = await loneGatewayOfThisFile()
type Key = Awaited<ReturnType<typeof createKey>>

const chat = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] }
const listOf = ({ organizationId }: Pick<Key, 'organizationId'>) => readRefusals(connection, organizationId)

type Case = readonly [
  status: number,
  code: string,
  key: Parameters<typeof createKey>[0],
  sent: Partial<Parameters<typeof send>[0]>,
  listed: object,
]

const cases: readonly Case[] = [
  [404, 'model_not_found', {}, { body: JSON.stringify({ ...chat, model: 'no/such' }) }, { model: 'no/such' }],
  [
    404,
    'model_not_found',
    {},
    { body: JSON.stringify({ ...chat, model: 'demo/closed' }) },
    { model: 'demo/closed' },
  ],
  [
    400,
    'wrong_model_type',
    {},
    { body: JSON.stringify({ ...chat, model: 'demo/vector' }) },
    { param: 'model' },
  ],
  [400, 'invalid_json', {}, { body: '{' }, { model: null }],
  [
    400,
    'invalid_value',
    {},
    { body: JSON.stringify({ ...chat, messages: 7 }) },
    { param: 'messages', model: 'demo/echo' },
  ],
  [
    403,
    'model_not_allowed',
    { allowedModels: ['other/*'] },
    { body: JSON.stringify({ ...chat, model: 'no/such' }) },
    { model: 'no/such' },
  ],
  [415, 'unsupported_media_type', {}, { headers: { 'content-type': 'text/plain' } }, {}],
  [429, 'rate_limit_exceeded', { rpm: 0 }, { body: '{' }, { limit: 0, used: 0 }],
  [403, 'api_key_blocked', { state: 'blocked', blockedBy: 'owner' }, { body: '{' }, {}],
  [401, 'expired_api_key', { expiresAtMs: 1 }, { body: '{' }, {}],
  [401, 'invalid_api_key', { state: 'revoked' }, { body: '{' }, {}],
  [402, 'insufficient_balance', { balanceNano: 0n }, { body: '{' }, {}],
]

test.each(cases)(
  'a %i %s of a known key is listed by the id that its client received',
  async (status, code, changes, sent, listed) => {
    const key = await createKey(changes)
    const answer = await send({ key: key.key, body: JSON.stringify(chat), ...sent })
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([status, code])
    const requestId = answer.headers['x-gateway-request-id']
    await vi.waitFor(async () =>
      expect(await listOf(key)).toMatchObject([{ requestId, keyId: key.keyId, reason: code, ...listed }]),
    )
  },
)

test('a revoked key that is tried again and again is listed each time, though Redis is asked once', async () => {
  const key = await createKey({ state: 'revoked' })
  const before = await scriptCalls()
  const ids: unknown[] = []
  for (let n = 0; n < 3; n++)
    ids.push((await send({ key: key.key, body: '{' })).headers['x-gateway-request-id'])
  await vi.waitFor(async () =>
    expect((await listOf(key)).map(({ requestId }) => requestId)).toEqual(ids.toReversed()),
  )
  expect((await scriptCalls()) - before).toBe(1)
})

test('strangers write nothing, and neither does a request that succeeds', async () => {
  const key = await createKey()
  const names = async () => (await connection.redis.keys('mg:*refused*')).toSorted()
  const before = await names()
  for (const stranger of [madeUpKeyBeside(key), unknownKeyBeside(key)])
    expect((await send({ key: stranger, body: '{' })).status).toBe(401)
  expect((await send({ key: key.key, body: JSON.stringify(chat) })).status).toBe(200)
  const last = await createKey()
  await send({ key: last.key, body: '{' })
  await vi.waitFor(async () => expect(await listOf(last)).toHaveLength(1))
  const added = (await names()).filter((name) => !before.includes(name))
  expect(added.filter((name) => !name.endsWith(':recent'))).toEqual([refusedName(last.organizationId)])
})

test('a flood of rejections is listed by few calls, and the list keeps its bound and its last entry', async () => {
  const key = await createKey({ state: 'blocked', blockedBy: 'owner' })
  const scripts = async () =>
    Number(/^cmdstat_fcall:calls=(\d+)/m.exec(await connection.redis.info('commandstats'))?.[1])
  const before = await scripts()
  const total = 2_000
  for (let n = 0; n < total; n += 50)
    await Promise.all(Array.from({ length: 50 }, () => send({ key: key.key, body: '{' })))
  const last = await send({ key: key.key, body: '{' })
  const id = last.headers['x-gateway-request-id']
  await vi.waitFor(async () => expect((await listOf(key))[0]).toMatchObject({ requestId: id }))
  expect((await scripts()) - before - total).toBeLessThan(total / 4)
  expect((await listOf(key)).length).toBeLessThanOrEqual(1_000)
  expect(listedMs).toBe(7 * 24 * 60 * 60_000)
})
