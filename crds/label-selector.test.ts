import { expect, test } from 'vitest'
import { type LabelSelector, selects } from './label-selector.ts'

const labels = { team: 'a', tier: '' }
const wants = (
  key: string,
  operator: LabelSelector['matchExpressions'][number]['operator'],
  ...values: string[]
) => ({
  matchLabels: {},
  matchExpressions: [{ key, operator, values }],
})

test.each([
  [{ matchLabels: { team: 'a' }, matchExpressions: [] }, true],
  [{ matchLabels: { team: 'a', tier: '' }, matchExpressions: [] }, true],
  [{ matchLabels: { team: 'a', zone: 'x' }, matchExpressions: [] }, false],
  [{ matchLabels: { constructor: '' }, matchExpressions: [] }, false],
  [wants('team', 'In', 'b', 'a'), true],
  [wants('team', 'In', 'b'), false],
  [wants('zone', 'In', 'b'), false],
  [wants('team', 'NotIn', 'a'), false],
  [wants('zone', 'NotIn', 'a'), true],
  [wants('tier', 'Exists'), true],
  [wants('toString', 'Exists'), false],
  [wants('team', 'DoesNotExist'), false],
  [{ ...wants('zone', 'DoesNotExist'), matchLabels: { team: 'a' } }, true],
  [{ ...wants('zone', 'DoesNotExist'), matchLabels: { team: 'b' } }, false],
] satisfies [LabelSelector, boolean][])('%j', (selector, isSelected) => {
  expect(selects(selector, labels)).toBe(isSelected)
})
