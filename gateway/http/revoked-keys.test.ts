import { expect, test } from 'vitest'
import type { KeyHash } from '#core/keys/key'
import { createRevokedKeys } from './revoked-keys.ts'

const hash = (name: string) => name as KeyHash

test('a revoked key is remembered for 10 s, another one not at all', () => {
  let nowMs = 0
  const revoked = createRevokedKeys(() => nowMs)
  revoked.add(hash('one'))
  nowMs = 9_999
  expect([revoked.has(hash('one')), revoked.has(hash('two'))]).toEqual([true, false])
  nowMs = 10_000
  expect(revoked.has(hash('one'))).toBe(false)
})

test('of more than 4096 the one that came first is forgotten', () => {
  const revoked = createRevokedKeys(() => 0)
  for (let n = 0; n <= 4096; n++) revoked.add(hash(String(n)))
  expect([revoked.has(hash('0')), revoked.has(hash('1')), revoked.has(hash('4096'))]).toEqual([
    false,
    true,
    true,
  ])
})
