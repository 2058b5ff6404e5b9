import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defaultSecretName } from './secret-name.ts'

/** Names of Kubernetes' objects: RFC 1123 subdomains of at most 253 characters. */
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const objectName = fc
  .array(fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?$/), { minLength: 1, maxLength: 130 })
  .map((labels) =>
    labels
      .join('.')
      .slice(0, 253)
      .replace(/[-.]+$/, ''),
  )
  .filter((name) => subdomain.test(name))

test('an ApiKey of any name has a valid Secret name, the same each time', () => {
  fc.assert(
    fc.property(objectName, (name) => {
      const secretName = defaultSecretName(name)
      expect(secretName).toMatch(subdomain)
      expect(secretName.length).toBeLessThanOrEqual(253)
      expect(defaultSecretName(name)).toBe(secretName)
    }),
  )
})

test('a short name is only given an ending', () => {
  expect(defaultSecretName('ci')).toBe('ci-apikey')
  expect(defaultSecretName('a'.repeat(246))).toBe(`${'a'.repeat(246)}-apikey`)
})

test('long names that differ only at their end have different Secrets', () => {
  const start = 'a'.repeat(252)
  const names = [...'abcdefgh'].map((last) => defaultSecretName(start + last))
  expect(new Set(names).size).toBe(names.length)
})

test('a name that is cut at a dot stays valid', () => {
  for (let length = 200; length < 253; length++)
    expect(defaultSecretName(`${'a'.repeat(length)}.${'b'.repeat(252 - length)}`)).toMatch(subdomain)
})
