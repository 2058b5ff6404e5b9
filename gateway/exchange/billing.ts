import type { TokenClasses } from '#core/ledger/price'
import { countableText } from '../tokens/countable-text.ts'
import type { TokenCounter } from '../tokens/token-counter.ts'
import { type Delivered, deliveredTokensOf, hasAny } from './delivered-text.ts'
import {
  type Bill,
  billOf,
  type Ending,
  type EstimateReason,
  nothingDelivered,
  totalOf,
  whyEstimated,
} from './internal/bill.ts'
import { billedMaxOf, priceOf, type Run } from './run.ts'
import type { UsageReading } from './usage.ts'

/** A bill that is not based on the provider's own count. */
type EstimateNote = {
  readonly requestId: string
  readonly provider: string
  readonly reason: EstimateReason
  /** The problem with the provider's count, if it sent one. */
  readonly why: string | null
  /** `characters`: the tokenizer was too slow, too busy or broken. */
  readonly countedBy: 'tokenizer' | 'characters'
}

/**
 * Makes the bill of a request with such an ending. Returns a promise, and counts the delivered tokens, only
 * if it is estimated.
 */
export type MakeBill = (
  run: Run,
  ended: Pick<Ending, 'kind' | 'usage'>,
  readDelivered: () => Delivered,
) => Bill | Promise<Bill>

/** A provider counted more than was held for the request. */
export type OverrunNote = {
  readonly requestId: string
  readonly provider: string
  /** There was more prompt than the request can have, or more output than the limit: that part is not billed. */
  readonly cause: 'prompt' | 'output'
}

type BillingDeps = {
  readonly counter: TokenCounter
  readonly note: (estimate: EstimateNote) => void
  readonly noteOverrun: (overrun: OverrunNote) => void
}

/** The provider's count if it is trusted, else our own, which is reported to `note`. */
export function createBilling(deps: BillingDeps): MakeBill {
  return (run, ended, readDelivered) => {
    const isUncounted = lacksPrompt(run, ended.usage) || lacksOutput(ended.usage, readDelivered)
    const reason = whyEstimated(ended) ?? (isUncounted ? 'missing' : undefined)
    if (reason !== undefined) return estimate(deps, run, { ...ended, reason }, readDelivered())
    const { estimatePrompt } = run.prompt
    const ending = { ...ended, ...billedMaxOf(run), estimatePrompt, delivered: nothingDelivered }
    return checked(deps, run, billOf(ending, priceOf(run)))
  }
}

/** Whether a provider counted nothing of an answer that it gave: some report zero instead of counting. */
function lacksOutput(usage: UsageReading, readDelivered: () => Delivered): boolean {
  return usage.kind === 'reported' && outputOf(usage.tokens) === 0 && hasAny(readDelivered())
}

/** The same for its prompt: no request is without one, and what comes from a cache is counted, too. */
function lacksPrompt({ prompt }: Run, usage: UsageReading): boolean {
  if (usage.kind !== 'reported') return false
  return totalOf(usage.tokens) === outputOf(usage.tokens) && prompt.estimatePrompt() > 0
}

function outputOf({ output, reasoning }: TokenClasses): number {
  return output + reasoning
}

/** Reports what is not billed of an answer, because it is more than was held for it. */
function checked({ noteOverrun }: BillingDeps, run: Run, bill: Bill): Bill {
  const { requestId } = run.exchange
  for (const cause of bill.cut) noteOverrun({ requestId, provider: providerOf(run), cause })
  return bill
}

function providerOf({ attempts }: Run): string {
  return attempts.at(-1)?.provider ?? 'unknown'
}

async function estimate(
  deps: BillingDeps,
  run: Run,
  { kind, usage, reason }: Pick<Ending, 'kind' | 'usage'> & { readonly reason: EstimateReason },
  delivered: Delivered,
): Promise<Bill> {
  const counted = await countTokens(deps.counter, run, delivered)
  deps.note({
    requestId: run.exchange.requestId,
    provider: providerOf(run),
    reason,
    why: usage.kind === 'untrusted' ? usage.why : null,
    countedBy: counted === undefined ? 'characters' : 'tokenizer',
  })
  const tokens = counted ?? measured(run, delivered)
  const ending = {
    kind,
    ...billedMaxOf(run),
    ...tokens,
    ...(reason === 'missing' ? onlyOutput(usage) : { usage }),
  }
  return checked(deps, run, billOf(ending, priceOf(run)))
}

/**
 * Usage with a count of zero looks valid by itself, but is not believed. If only the prompt lacks, the output may have
 * more than was delivered, namely hidden reasoning.
 */
function onlyOutput(usage: UsageReading): Pick<Ending, 'usage'> & Partial<Pick<Ending, 'delivered'>> {
  const missing = { usage: { kind: 'missing' } } as const
  if (usage.kind !== 'reported' || outputOf(usage.tokens) === 0) return missing
  const { output, reasoning } = usage.tokens
  return { ...missing, delivered: { output, reasoning } }
}

type Tokens = Pick<Ending, 'estimatePrompt' | 'delivered'>

async function countTokens(
  counter: TokenCounter,
  run: Run,
  delivered: Delivered,
): Promise<Tokens | undefined> {
  const { output, reasoning } = delivered
  const { texts, otherTokens } = run.prompt.readPrompt()
  const counts = await counter.count([countableText(texts), output.countable(), reasoning.countable()])
  if (counts === undefined) return undefined
  const [promptCount = 0, outputCount = 0, reasoningCount = 0] = counts
  return {
    estimatePrompt: () => Math.ceil(promptCount + otherTokens),
    delivered: deliveredTokensOf(delivered, { output: outputCount, reasoning: reasoningCount }),
  }
}

function measured({ prompt }: Run, delivered: Delivered): Tokens {
  return { estimatePrompt: prompt.estimatePrompt, delivered: deliveredTokensOf(delivered) }
}
