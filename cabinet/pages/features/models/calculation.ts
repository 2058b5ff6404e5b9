import {
  costNanoOf,
  type Model,
  shownClasses,
  type TokenClass,
  type TokenCounts,
  tokenClasses,
} from './model.ts'
import { findTypedCount } from './typed-count.ts'

/** More than any present context; the server accepts no more either. */
const countMax = 1_000_000_000n

/** What the calculator asks for. */
export type CountName = TokenClass | 'requests'

export const exampleCounts: Readonly<Record<CountName, string>> = {
  input: '1000',
  cached_input: '0',
  cache_write: '0',
  output: '500',
  reasoning: '0',
  requests: '1000',
}

/** What requests of a given size would cost, to the last digit. */
export type Calculation = {
  /** The fields: only classes with their own price have one, since the others cost the same as their family. */
  readonly asked: readonly CountName[]
  /** Those of them that are no whole number, or too large. */
  readonly wrong: ReadonlySet<CountName>
  /** `undefined`: a count that it needs is wrong. */
  readonly costOfOneNano: bigint | undefined
  readonly costOfAllNano: bigint | undefined
}

/** Pure. */
export function calculate({ type, pricing }: Model, typed: (name: CountName) => string): Calculation {
  const classes = shownClasses(type, [pricing])
  const asked = [...classes, 'requests' as const]
  const counts = new Map(asked.map((name) => [name, findTypedCount(typed(name), countMax)]))
  const wrong = new Set(asked.filter((name) => counts.get(name) === undefined))
  const tokens = Object.fromEntries(tokenClasses.map((each) => [each, counts.get(each) ?? 0n])) as TokenCounts
  const costOfOneNano = classes.some((each) => wrong.has(each)) ? undefined : costNanoOf(tokens, pricing)
  const requests = counts.get('requests')
  const isWhole = costOfOneNano !== undefined && requests !== undefined
  return { asked, wrong, costOfOneNano, costOfAllNano: isWhole ? costOfOneNano * requests : undefined }
}
