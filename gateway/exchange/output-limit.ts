import type { TokenCounter } from '../tokens/token-counter.ts'
import type { ProviderCall } from '../upstream/provider-call.ts'
import type { Delivered } from './delivered-text.ts'
import { billedMaxOf, type Run } from './run.ts'

/**
 * What of an answer may be delivered when its provider goes on beyond the limit that it was sent: callers cannot have more than
 * was held for them.
 */
export type OutputLimit = {
  /** Estimated tokens of texts from which on the answer has to be counted; infinite where it has no limit. */
  suspectAbove(run: Run): number
  /**
   * Counts what was delivered. `share`: the part of it that is within the limit, 1 where all of it is. Never rejects.
   */
  check(run: Run, delivered: Delivered): Promise<{ readonly share: number }>
}

/**
 * How far an estimate by characters, and then a count by another family's tokenizer, may be above what the provider itself
 * counts: tokens of long runs (spaces, lines of a table) have up to 16 characters, and YandexGPT makes a fifth fewer tokens
 * of Russian than o200k. An honest answer is never cut, a dishonest one soon.
 */
const estimateFactor = 2
const estimateSlack = 64
const countFactor = 1.5
const countSlack = 16
/** Where it could not be counted in time, the estimate alone decides. */
const uncountedFactor = 8
const uncountedSlack = 1_024

export function createOutputLimit(counter: TokenCounter): OutputLimit {
  return {
    suspectAbove: (run) => estimateFactor * limitOf(run) + estimateSlack,
    async check(run, { output, reasoning }) {
      const limit = limitOf(run)
      const counts = await counter.count([output.countable(), reasoning.countable()])
      const counted = counts?.reduce((sum, count) => sum + count, 0)
      const tokens = counted ?? tokensOfTexts({ output, reasoning })
      const mostHonest =
        counted === undefined ? uncountedFactor * limit + uncountedSlack : countFactor * limit + countSlack
      return { share: tokens <= mostHonest ? 1 : limit / tokens }
    },
  }
}

/** Frames between two looks at a stream, in UTF-16 units: some twenty chunks of a token, far below the slack. */
const lookEvery = 4_096

/**
 * Follows a stream: to be called with the length of each frame. While it is counted its provider waits, and what is beyond the limit
 * is cut off.
 */
export function watchOutput(
  limit: OutputLimit,
  run: Run,
  delivered: Delivered,
  { call, cut }: { readonly call: () => ProviderCall; readonly cut: () => void },
): (frameLength: number) => void {
  let suspectAbove: number | undefined
  let unseen = 0
  return (frameLength) => {
    unseen += frameLength
    if (unseen < lookEvery) return
    unseen = 0
    suspectAbove ??= limit.suspectAbove(run)
    const tokens = tokensOfTexts(delivered)
    if (tokens <= suspectAbove) return
    suspectAbove = 2 * tokens
    call().pause()
    void limit.check(run, delivered).then(({ share }) => {
      if (share === 1) return call().resume()
      call().cancel()
      cut()
    })
  }
}

/** Estimated tokens of the texts of an answer: media have none that anybody could cut. */
export function tokensOfTexts({ output, reasoning }: Pick<Delivered, 'output' | 'reasoning'>): number {
  return output.tokens() + reasoning.tokens()
}

function limitOf(run: Run): number {
  return billedMaxOf(run).outputTokensMax ?? Number.POSITIVE_INFINITY
}
