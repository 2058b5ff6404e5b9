import { expect, test } from 'vitest'
import { hashKey, writeKey } from '#cabinet/keys/key'
import { shardOf } from '#cabinet/redis/shard'
import { createFindCaller } from './authenticate.ts'
import { createRevokedKeys } from './internal/revoked-keys.ts'
import { createUncheckedKeys } from './internal/unchecked-keys.ts'

const pepper = 'pepper'
const shard = shardOf('an organization')
const key = writeKey(shard, new Uint8Array(32).fill(7), pepper)
const revoked = createRevokedKeys(() => 0)
const unchecked = createUncheckedKeys(() => 0)
const findCaller = createFindCaller(pepper, { revoked, unchecked })

test('a whole key behind Bearer, in any case, names its shard and its hash', () => {
  for (const header of [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key} `])
    for (const time of ['first', 'second'])
      expect(findCaller(header), time).toEqual({
        caller: { shard, secretHash: hashKey(key, pepper), hasCheck: true },
      })
})

test('no Bearer is missing_api_key, whatever else is there', () => {
  for (const header of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    key,
    `Basic ${key}`,
    `Bearer${key}`,
    `Bearer ${key} x`,
  ])
    expect(findCaller(header), header).toMatchObject({
      refusal: { status: 401, code: 'missing_api_key', headers: { 'www-authenticate': 'Bearer' } },
    })
})

test('of keys without the check Redis is asked about 20 a second, and about those that it knows always', () => {
  const madeUp = (n: number) => `Bearer ${writeKey(shard, new Uint8Array(32).fill(n), 'another pepper')}`
  const found = Array.from({ length: 22 }, (_, n) => findCaller(madeUp(n)))
  const callers = found.flatMap((each) => ('caller' in each ? [each.caller] : []))
  expect(callers).toHaveLength(20)
  expect(found.at(-1)).toMatchObject({ refusal: { status: 503, headers: { 'retry-after': '1' } } })
  expect(findCaller(madeUp(0))).toHaveProperty('refusal')
  for (const { secretHash } of callers.slice(0, 1)) unchecked.confirm(secretHash)
  expect(findCaller(madeUp(0))).toHaveProperty('caller')
  expect(findCaller(`Bearer ${key}`)).toHaveProperty('caller')
})

test('a key with a typo is invalid_api_key without any look-up', () => {
  for (const wrong of [
    `${key}x`,
    key.slice(0, -1),
    key.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    'sk-proj-1',
  ])
    expect(findCaller(`Bearer ${wrong}`)).toMatchObject({
      refusal: { status: 401, code: 'invalid_api_key', headers: { 'www-authenticate': 'Bearer' } },
    })
})
