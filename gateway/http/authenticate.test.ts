import { expect, test } from 'vitest'
import { hashKey, writeKey } from '#core/keys/key'
import { shardOf } from '#core/redis/shard'
import { createFindCaller } from './authenticate.ts'
import { createRevokedKeys } from './revoked-keys.ts'

const pepper = 'pepper'
const shard = shardOf('an organization')
const key = writeKey(shard, new Uint8Array(32).fill(7), pepper)
const revoked = createRevokedKeys(() => 0)
const findCaller = createFindCaller(pepper, revoked)

test('a whole key behind Bearer, in any case, names its shard and its hash', () => {
  for (const header of [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key} `])
    for (const time of ['first', 'second'])
      expect(findCaller(header), time).toEqual({
        caller: { shard, secretHash: hashKey(key, pepper) },
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

test('a key forged without the pepper is invalid_api_key, and a revoked one stays so', () => {
  const madeUp = writeKey(shard, new Uint8Array(32).fill(7), 'another pepper')
  expect(findCaller(`Bearer ${madeUp}`)).toMatchObject({ refusal: { status: 401, code: 'invalid_api_key' } })
  const gone = writeKey(shard, new Uint8Array(32).fill(8), pepper)
  expect(findCaller(`Bearer ${gone}`)).toHaveProperty('caller')
  revoked.add(hashKey(gone, pepper))
  expect(findCaller(`Bearer ${gone}`)).toMatchObject({ refusal: { status: 401 } })
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
