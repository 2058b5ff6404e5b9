import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openCredential, sealCredential } from './credential-seal.ts'

const sealingKey = randomBytes(32)
const boundTo = { provider: 'openai', baseUrl: 'https://api.openai.com/v1', header: 'authorization' }

test('a sealed credential opens for the provider, address and header it was sealed for', () => {
  const sealed = sealCredential('sk-upstream', boundTo, sealingKey)
  expect(sealed).not.toContain('sk-upstream')
  expect(openCredential(sealed, boundTo, sealingKey)).toBe('sk-upstream')
})

test('it opens for no other provider, address, header or key, and not when damaged', () => {
  const sealed = sealCredential('sk-upstream', boundTo, sealingKey)
  expect(openCredential(sealed, { ...boundTo, provider: 'other' }, sealingKey)).toBeUndefined()
  expect(openCredential(sealed, { ...boundTo, baseUrl: 'https://evil.example' }, sealingKey)).toBeUndefined()
  expect(openCredential(sealed, { ...boundTo, header: 'x-api-key' }, sealingKey)).toBeUndefined()
  expect(openCredential(sealed, boundTo, randomBytes(32))).toBeUndefined()
  for (const damaged of ['', 'a.b', 'a.b.c', `${sealed.slice(0, -3)}AAA`, sealed.replace(/\.[^.]+$/, '.')])
    expect(openCredential(damaged, boundTo, sealingKey)).toBeUndefined()
})
