import { expect, test } from 'vitest'
import { needsApproval } from './needs-approval.ts'

const facts = { isRuleOn: true, isOwn: false, amount: 5_000n, doneAlone: 0n, aloneMax: 5_000n }

test('one administrator may move as much as the setting, in parts or at once, in either direction', () => {
  expect(needsApproval(facts)).toBeUndefined()
  expect(needsApproval({ ...facts, amount: -5_000n })).toBeUndefined()
  expect(needsApproval({ ...facts, amount: 2_000n, doneAlone: 3_000n })).toBeUndefined()
  for (const more of [{ amount: 5_001n }, { amount: -5_001n }, { amount: 2_000n, doneAlone: 3_001n }])
    expect(needsApproval({ ...facts, ...more })).toBe('amount')
})

test('for their own organization an administrator needs approval of any amount, unless the rule is off', () => {
  expect(needsApproval({ ...facts, amount: 1n, isOwn: true })).toBe('own_organization')
  expect(needsApproval({ ...facts, amount: 10n ** 15n, isOwn: true, isRuleOn: false })).toBeUndefined()
})
