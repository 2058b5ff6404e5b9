import { expect, test } from 'vitest'
import { createResponseCipher } from './response-cipher.ts'

const keyOf = (byte: number) => new Uint8Array(32).fill(byte)
const cipher = createResponseCipher([keyOf(1)])
const sealed = { organizationId: 'org', keyId: 'key', id: 'request', part: 'input' } as const
const encrypt = (by = cipher) =>
  Buffer.concat(by.encrypt([Buffer.from('{"a":'), Buffer.from('"я"}')], sealed))

test('what was encrypted in parts is one text again', () => {
  expect(cipher.decrypt(encrypt(), sealed)).toBe('{"a":"я"}')
  expect(encrypt().equals(encrypt()), 'no two ciphertexts are the same').toBe(false)
})

test.each([{ organizationId: 'other' }, { keyId: 'other' }, { id: 'other' }, { part: 'response' }] as const)(
  'a text does not decrypt for %j',
  (other) => {
    expect(cipher.decrypt(encrypt(), { ...sealed, ...other })).toBeUndefined()
  },
)

test('no damaged text decrypts', () => {
  const bytes = encrypt()
  for (let at = 0; at < bytes.length; at += 1) {
    const damaged = Buffer.from(bytes)
    damaged[at] = (damaged[at] ?? 0) ^ 1
    expect(cipher.decrypt(damaged, sealed)).toBeUndefined()
    expect(cipher.decrypt(bytes.subarray(0, at), sealed)).toBeUndefined()
  }
})

test('a key that was moved back in the list still decrypts, and one that was dropped does not', () => {
  const old = encrypt()
  expect(createResponseCipher([keyOf(2), keyOf(1)]).decrypt(old, sealed)).toBe('{"a":"я"}')
  expect(createResponseCipher([keyOf(2)]).decrypt(old, sealed)).toBeUndefined()
})
