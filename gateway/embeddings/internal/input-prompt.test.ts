import { expect, test } from 'vitest'
import type { EmbeddingInputs } from '../../requests/embedding-request.ts'
import { workThrough } from '../../wire/turns.ts'
import { promptOf, sizeInputs } from './input-prompt.ts'

async function sized(inputs: EmbeddingInputs) {
  return { inputs, inputTokens: await workThrough(sizeInputs(inputs), 0) }
}

test('tokens are their own count; texts are estimated', async () => {
  const tokens = await sized({ kind: 'tokens', items: [[1, 2], [3]] })
  const texts = await sized({ kind: 'texts', items: ['four', 'and four'] })
  expect(promptOf(tokens).estimatePrompt()).toBe(3)
  expect(promptOf(texts).estimatePrompt()).toBe(3)
  const second = { parts: [{ from: 1, to: 2 }], countedTokens: 5 }
  expect(promptOf(tokens, second).estimatePrompt()).toBe(6)
  expect(promptOf(texts, second).readPrompt()).toEqual({ texts: ['and four'], otherTokens: 5 })
})
