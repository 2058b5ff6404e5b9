import type { SentPrompt } from '../../exchange/run.ts'
import type { EmbeddingInputs } from '../../requests/embedding-request.ts'
import { estimateText } from '../../tokens/token-estimate.ts'

/** The first `count` of the items. */
export function firstInputs(inputs: EmbeddingInputs, count: number): EmbeddingInputs {
  return inputs.kind === 'texts'
    ? { kind: 'texts', items: inputs.items.slice(0, count) }
    : { kind: 'tokens', items: inputs.items.slice(0, count) }
}

/** What is to be embedded as a prompt, with its expected tokens. Tokens are their own count. */
export function promptOf(inputs: EmbeddingInputs): SentPrompt {
  const promptTokens = estimateInputs(inputs)
  return {
    promptTokens,
    readPrompt: () =>
      inputs.kind === 'texts'
        ? { texts: inputs.items, otherTokens: 0, allText: true }
        : { texts: [], otherTokens: promptTokens, allText: true },
  }
}

function estimateInputs({ kind, items }: EmbeddingInputs): number {
  if (kind === 'tokens') return items.reduce((sum, { length }) => sum + length, 0)
  return items.reduce((sum, item) => sum + estimateText(item), 0)
}
