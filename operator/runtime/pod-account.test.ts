import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readPodAccount } from './pod-account.ts'

const folder = mkdtempSync(join(tmpdir(), 'mg-pod-account-'))

function tokenOf(text: string): string {
  const path = join(folder, String(Math.random()))
  writeFileSync(path, text)
  return path
}

test('the token of a pod names its service account', () => {
  const claims = {
    sub: 'system:serviceaccount:mg:mg-operator',
    'kubernetes.io': {
      namespace: 'mg',
      pod: { name: 'mg-operator-5d9', uid: 'b3f5a0c2-0000-4000-8000-000000000001' },
      serviceaccount: { name: 'mg-operator', uid: 'b3f5a0c2-0000-4000-8000-000000000002' },
    },
  }
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  expect(readPodAccount(tokenOf(`${part({ alg: 'RS256' })}.${part(claims)}.c2lnbmF0dXJl`))).toEqual({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    name: 'mg-operator',
    uid: 'b3f5a0c2-0000-4000-8000-000000000002',
  })
})

test('outside of a pod, and with another kind of token, there is none', () => {
  expect(readPodAccount(join(folder, 'not-there'))).toBeUndefined()
  expect(readPodAccount(tokenOf('an opaque token'))).toBeUndefined()
  expect(readPodAccount(tokenOf(`a.${Buffer.from('{}').toString('base64url')}.b`))).toBeUndefined()
})
