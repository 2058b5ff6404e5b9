import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allShards, shardOf } from '../redis/shard.ts'
import { base62, findKey, hashKey, visiblePartsOf, writeKey } from './key.ts'

const pepper = 'pepper'
const secret = fc.uint8Array({ minLength: 32, maxLength: 32 })
const shard = fc.constantFrom(...allShards)

describe('an API key', () => {
  test('is read back as it was written, with its shard, whatever its secret', () => {
    fc.assert(
      fc.property(shard, secret, (shard, secret) => {
        const key = writeKey(shard, secret, pepper)
        expect(key).toMatch(/^sk-gateway-[0-9]{2}[0-9A-Za-z]{49}$/)
        expect(findKey(key, pepper)).toEqual({ key, shard })
      }),
    )
  })

  test('with one character changed is no key, without any I/O', () => {
    const key = writeKey(shardOf('an organization'), randomBytes(32), pepper)
    for (let place = 0; place < key.length; place++) {
      const other = key[place] === 'a' ? 'b' : 'a'
      expect(findKey(key.slice(0, place) + other + key.slice(place + 1), pepper)).toBeUndefined()
    }
  })

  test('of the wrong length, of no shard, or of another product is no key', () => {
    const key = writeKey(shardOf('x'), randomBytes(32), pepper)
    for (const text of ['', 'sk-gateway-', `${key}0`, key.slice(1), ` ${key}`, `${key}\n`, 'sk-proj-1234'])
      expect(findKey(text, pepper)).toBeUndefined()
  })

  test('made with another pepper is invalid, so no one without the pepper can forge a key', () => {
    const key = writeKey(shardOf('x'), randomBytes(32), 'another pepper')
    expect(findKey(key, pepper)).toBeUndefined()
    expect(findKey(key, 'another pepper')).toMatchObject({ key })
  })

  test('with a checksum and without the check is no key', () => {
    const key = 'sk-gateway-071fJjkkpe9PiTw9KSulA8Ghct30vZz4HpdQ5c5b9cPF12J4Nym'
    expect(findKey(key, pepper)).toBeUndefined()
  })

  test('has another hash under another pepper', () => {
    const key = writeKey(shardOf('x'), randomBytes(32), pepper)
    expect(hashKey(key, 'one')).toBe(hashKey(key, 'one'))
    expect(hashKey(key, 'one')).not.toBe(hashKey(key, 'two'))
  })

  test('shows only its first 15 and last 4 characters', () => {
    const key = writeKey(shardOf('x'), randomBytes(32), pepper)
    expect(visiblePartsOf(key)).toEqual({ prefix: key.slice(0, 15), suffix: key.slice(58) })
  })
})

test('base62 pads to its length and refuses what does not fit', () => {
  expect(base62(0n, 3)).toBe('000')
  expect(base62(61n, 2)).toBe('0z')
  expect(() => base62(62n, 1)).toThrow(RangeError)
})

test('organizations spread over all shards', () => {
  const used = new Set(Array.from({ length: 2000 }, (_, n) => shardOf(`organization-${n}`)))
  expect(used.size).toBe(64)
})
