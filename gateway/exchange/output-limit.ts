import type { TokenCounter } from '../tokens/token-counter.ts'
import type { ProviderCall } from '../upstream/provider-call.ts'
import type { Delivered } from './delivered-text.ts'
import { billedMaxOf, type Run } from './run.ts'

/**
 * How much of a response may be delivered if its provider continues beyond the limit that it was sent:
 * callers cannot have more than was held for them.
 */
export type OutputLimit = {
  /** Estimated tokens of texts above which the response must be counted; infinite if it has no limit. */
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
/** If it could not be counted in time, only the estimate decides. */
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
 * Passes the frames of a stream on to `take`. When what was generated so far looks like more than the limit, they wait, and
 * so does the provider, until it was counted: what is beyond the limit is not delivered, and the answer is `cut`.
 */
export function watchOutput<Step extends { readonly text: string }>(
  limit: OutputLimit,
  run: Run,
  delivered: Delivered,
  stream: {
    readonly call: () => ProviderCall
    readonly take: (step: Step) => void
    /** Ends the response; what was passed last does not leave. */
    readonly cut: (unsent: readonly Step[]) => void
  },
): (step: Step) => void {
  let suspectAbove: number | undefined
  let unseen = 0
  let waiting: Step[] | undefined

  function isSuspect({ text }: Step): boolean {
    unseen += text.length
    if (unseen < lookEvery) return false
    unseen = 0
    suspectAbove ??= limit.suspectAbove(run)
    const tokens = tokensOfTexts(delivered)
    if (tokens <= suspectAbove) return false
    suspectAbove = 2 * tokens
    return true
  }

  async function check(): Promise<void> {
    stream.call().pause()
    const { share } = await limit.check(run, delivered)
    const steps = waiting ?? []
    waiting = undefined
    if (share < 1) {
      stream.call().cancel()
      return stream.cut(steps)
    }
    stream.call().resume()
    for (const step of steps) stream.take(step)
  }

  return (step) => {
    if (waiting !== undefined) waiting.push(step)
    else if (isSuspect(step)) {
      waiting = [step]
      void check()
    } else stream.take(step)
  }
}

/** Estimated tokens of the texts of a response: media have none that could be cut. */
export function tokensOfTexts({ output, reasoning }: Pick<Delivered, 'output' | 'reasoning'>): number {
  return output.tokens() + reasoning.tokens()
}

function limitOf(run: Run): number {
  return billedMaxOf(run).outputTokensMax ?? Number.POSITIVE_INFINITY
}
