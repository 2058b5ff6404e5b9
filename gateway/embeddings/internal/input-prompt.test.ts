import { expect, test } from 'vitest'
import { firstInputs, promptOf } from './input-prompt.ts'

test('tokens are their own count; texts are estimated', () => {
  const tokens = { kind: 'tokens', items: [[1, 2], [3]] } as const
  const texts = { kind: 'texts', items: ['four', 'and four'] } as const
  expect(promptOf(tokens).promptTokens).toBe(3)
  expect(promptOf(texts).promptTokens).toBe(3)
  expect(promptOf(firstInputs(tokens, 1)).promptTokens).toBe(2)
  expect(promptOf(firstInputs(texts, 1)).readPrompt().texts).toEqual(['four'])
})
