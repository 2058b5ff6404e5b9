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

type Part = { readonly from: number; readonly to: number }

/** All inputs as a prompt, or some parts of them besides tokens that were counted already. */
export function promptOf(
  { inputs, inputTokens }: SizedInputs,
  { parts, countedTokens }: { readonly parts: readonly Part[]; readonly countedTokens: number } = {
    parts: [{ from: 0, to: inputTokens.length }],
    countedTokens: 0,
  },
): SentPrompt {
  const pick = <Item>(items: readonly Item[]) => parts.flatMap(({ from, to }) => items.slice(from, to))
  const promptTokens = pick(inputTokens).reduce((sum, each) => sum + each, countedTokens)
  return {
    estimatePrompt: () => promptTokens,
    readPrompt: () =>
      inputs.kind === 'texts'
        ? { texts: pick(inputs.items).flatMap(piecesOf), otherTokens: countedTokens }
        : { texts: [], otherTokens: promptTokens },
  }
}
