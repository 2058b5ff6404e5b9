import { expect, test } from 'vitest'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { secretValueOf } from './secret-value.ts'

const ref = { name: 's', key: 'apiKey' }
const labels = { 'modelgateway.dev/provider-credential': 'true' }

function secret(data: Readonly<Record<string, string>>, labelled: Readonly<Record<string, string>> = labels) {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
  const object: ClusterObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', labels: labelled },
    data: Object.fromEntries(encoded),
  }
  return object
}

test('a credential is read without the line end that editors add', () => {
  expect(secretValueOf(secret({ apiKey: 'sk-1\n' }), ref)).toEqual({ value: 'sk-1' })
})

test.each([
  ['is not there', undefined, 'SecretNotFound'],
  ['was not made for a provider', secret({ apiKey: 'sk-1' }, {}), 'SecretNotLabelled'],
  [
    'says no to it',
    secret({ apiKey: 'sk-1' }, { 'modelgateway.dev/provider-credential': 'false' }),
    'SecretNotLabelled',
  ],
  ['has another key', secret({ token: 'sk-1' }), 'KeyNotFound'],
  ['has an empty value', secret({ apiKey: ' \n' }), 'KeyNotFound'],
  ['has no data', { ...secret({}), data: {} }, 'KeyNotFound'],
])('a Secret that %s gives nothing, and no word of what it holds', (_, object, reason) => {
  const value = secretValueOf(object, ref)
  expect(value).toMatchObject({ reason })
  expect(JSON.stringify(value)).not.toContain('sk-1')
})
