import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openCredential, sealCredential } from './credential-seal.ts'

const sealingKeys = [randomBytes(32)] as const
const boundTo = {
  provider: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  header: 'authorization',
  caCertificates: undefined,
}

test('an encrypted credential opens for its provider, address, header and authorities', () => {
  const sealed = sealCredential('sk-upstream', boundTo, sealingKeys)
  expect(sealed).not.toContain('sk-upstream')
  expect(openCredential(sealed, boundTo, sealingKeys)).toBe('sk-upstream')
})

test('it opens for no other provider, address, header, authorities or key, and not when damaged', () => {
  const sealed = sealCredential('sk-upstream', boundTo, sealingKeys)
  expect(openCredential(sealed, { ...boundTo, provider: 'other' }, sealingKeys)).toBeUndefined()
  expect(openCredential(sealed, { ...boundTo, baseUrl: 'https://evil.example' }, sealingKeys)).toBeUndefined()
  expect(openCredential(sealed, { ...boundTo, header: 'x-api-key' }, sealingKeys)).toBeUndefined()
  const caCertificates = 'PEM of somebody'
  expect(openCredential(sealed, { ...boundTo, caCertificates }, sealingKeys)).toBeUndefined()
  const vouched = sealCredential('sk-upstream', { ...boundTo, caCertificates }, sealingKeys)
  expect(openCredential(vouched, { ...boundTo, caCertificates }, sealingKeys)).toBe('sk-upstream')
  expect(openCredential(vouched, boundTo, sealingKeys)).toBeUndefined()
  expect(openCredential(sealed, boundTo, [randomBytes(32)])).toBeUndefined()
  for (const damaged of ['', 'a.b', 'a.b.c', `${sealed.slice(0, -3)}AAA`, sealed.replace(/\.[^.]+$/, '.')])
    expect(openCredential(damaged, boundTo, sealingKeys)).toBeUndefined()
})

test('a tag that was cut short opens nothing', () => {
  const [keyId, nonce, tag = ''] = sealCredential('', boundTo, sealingKeys).split('.')
  expect(openCredential([keyId, nonce, tag].join('.'), boundTo, sealingKeys)).toBe('')
  for (const length of [4, 8, 12, 15]) {
    const cut = Buffer.from(tag, 'base64url').subarray(0, length).toString('base64url')
    expect(
      openCredential([keyId, nonce, cut].join('.'), boundTo, sealingKeys),
      `${length} bytes`,
    ).toBeUndefined()
  }
})

test('the first key encrypts and every key decrypts, so that keys change without a cut-over', () => {
  const next = randomBytes(32)
  const sealed = sealCredential('sk-upstream', boundTo, sealingKeys)
  expect(openCredential(sealed, boundTo, [next, ...sealingKeys])).toBe('sk-upstream')
  const resealed = sealCredential('sk-upstream', boundTo, [next, ...sealingKeys])
  expect(openCredential(resealed, boundTo, [next])).toBe('sk-upstream')
  expect(openCredential(resealed, boundTo, sealingKeys)).toBeUndefined()
})
