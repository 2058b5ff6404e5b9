import type { SentPrompt } from '../../exchange/run.ts'
import type { EmbeddingInputs } from '../../requests/embedding-request.ts'
import { partsOfText, tokensOfParts } from '../../tokens/token-estimate.ts'
import { piecesOf, type Text } from '../../wire/long-text.ts'

/** Inputs with the expected tokens of each; tokens are their own count. */
type SizedInputs = {
  readonly inputs: EmbeddingInputs
  readonly inputTokens: readonly number[]
}

/** What each input has, in steps of less than a millisecond. */
export function* sizeInputs({ kind, items }: EmbeddingInputs): Generator<undefined, readonly number[]> {
  if (kind === 'tokens') return items.map(({ length }) => length)
  const tokens: number[] = []
  for (const item of items) {
    tokens.push(yield* estimateInput(item))
  }
  return tokens
}

function* estimateInput(text: Text): Generator<undefined, number> {
  let parts = 0
  for (const piece of piecesOf(text)) {
    parts += partsOfText(piece)
    yield
  }
  return tokensOfParts(parts)
}

/** The first `count` inputs as a prompt, or all of them. */
export function promptOf({ inputs, inputTokens }: SizedInputs, count = inputTokens.length): SentPrompt {
  const promptTokens = inputTokens.slice(0, count).reduce((sum, each) => sum + each, 0)
  return {
    estimatePrompt: () => promptTokens,
    readPrompt: () =>
      inputs.kind === 'texts'
        ? { texts: inputs.items.slice(0, count).flatMap(piecesOf), otherTokens: 0 }
        : { texts: [], otherTokens: promptTokens },
  }
}
