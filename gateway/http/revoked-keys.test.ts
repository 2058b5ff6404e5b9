import { expect, test } from 'vitest'
import type { KeyHash } from '#core/keys/key'
import { createRevokedKeys } from './revoked-keys.ts'

const hash = (name: string) => name as KeyHash
const owner = { organizationId: 'organization', keyId: 'key' }

test('a revoked key is remembered with its owner for 10 s, another one not at all', () => {
  let nowMs = 0
  const revoked = createRevokedKeys(() => nowMs)
  revoked.add(hash('one'), owner)
  nowMs = 9_999
  expect([revoked.find(hash('one')), revoked.find(hash('two'))]).toEqual([owner, undefined])
  nowMs = 10_000
  expect(revoked.find(hash('one'))).toBe(undefined)
})

test('of more than 4096 the one that came first is forgotten', () => {
  const revoked = createRevokedKeys(() => 0)
  for (let n = 0; n <= 4096; n++) revoked.add(hash(String(n)), owner)
  expect(['0', '1', '4096'].map((name) => revoked.find(hash(name)))).toEqual([undefined, owner, owner])
})
