import { expect, test } from 'vitest'
import { createReasoningCipher } from './reasoning-cipher.ts'

const key = (fill: number) => new Uint8Array(32).fill(fill)
const cipher = createReasoningCipher([key(1)])
const signed = {
  origin: 'mark',
  details: [{ type: 'reasoning.text', text: 'Hm – 😀', signature: 's+/=' }],
  calls: { call_1: { google: { thought_signature: 't' } } },
  content: null,
}

test('an organization gets back what it was given, and reads nothing of it', () => {
  const encrypted = cipher.encrypt(signed, 'organization')
  expect(cipher.decrypt(encrypted, 'organization')).toEqual(signed)
  expect(Buffer.from(encrypted, 'base64').toString()).not.toContain('signature')
  expect(encrypted).not.toBe(cipher.encrypt(signed, 'organization'))
})

test('another organization, another installation, damage and other texts give nothing', () => {
  const encrypted = cipher.encrypt(signed, 'organization')
  expect(cipher.decrypt(encrypted, 'another')).toBeUndefined()
  expect(createReasoningCipher([key(2)]).decrypt(encrypted, 'organization')).toBeUndefined()
  for (const text of ['', 'x', 'a.b.c', encrypted.slice(0, -1), encrypted.slice(0, 40), `${encrypted}AAAA`])
    expect(cipher.decrypt(text, 'organization')).toBeUndefined()
})

test('after its key was replaced it is still read', () => {
  const encrypted = cipher.encrypt(signed, 'organization')
  expect(createReasoningCipher([key(2), key(1)]).decrypt(encrypted, 'organization')).toEqual(signed)
})
