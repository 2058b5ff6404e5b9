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
      expect(findCaller({ authorization: header }), time).toEqual({
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
    expect(findCaller({ authorization: header }), header).toMatchObject({
      refusal: { status: 401, code: 'missing_api_key', headers: { 'www-authenticate': 'Bearer' } },
    })
})

test('a key may be in x-api-key, where it needs no Bearer', () => {
  const found = { caller: { shard, secretHash: hashKey(key, pepper) } }
  expect(findCaller({ 'x-api-key': key })).toEqual(found)
  expect(findCaller({ 'x-api-key': ` ${key} `, authorization: `Bearer ${key}` })).toEqual(found)
  expect(findCaller({ 'x-api-key': '' })).toMatchObject({ refusal: { code: 'missing_api_key' } })
  expect(findCaller({ 'x-api-key': `Bearer ${key}` })).toMatchObject({ refusal: { code: 'invalid_api_key' } })
})

test('a key forged without the pepper is invalid_api_key, and a revoked one stays so', () => {
  const madeUp = writeKey(shard, new Uint8Array(32).fill(7), 'another pepper')
  expect(findCaller({ authorization: `Bearer ${madeUp}` })).toMatchObject({
    refusal: { status: 401, code: 'invalid_api_key' },
  })
  const gone = writeKey(shard, new Uint8Array(32).fill(8), pepper)
  expect(findCaller({ authorization: `Bearer ${gone}` })).toHaveProperty('caller')
  const owner = { organizationId: 'organization', keyId: 'key' }
  revoked.add(hashKey(gone, pepper), owner)
  expect(findCaller({ authorization: `Bearer ${gone}` })).toMatchObject({ refusal: { status: 401 }, owner })
})

test('a key with a typo is invalid_api_key without any look-up', () => {
  for (const wrong of [
    `${key}x`,
    key.slice(0, -1),
    key.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    'sk-proj-1',
  ])
    expect(findCaller({ authorization: `Bearer ${wrong}` })).toMatchObject({
      refusal: { status: 401, code: 'invalid_api_key', headers: { 'www-authenticate': 'Bearer' } },
    })
})
