/** So many calls of one caller in a span. */
export type Rate = {
  /** Part of names in Redis: lower-case letters and underscores. */
  readonly name: string
  readonly count: number
  readonly perS: number
}

/** Counts calls over all replicas; while Redis is away each process counts by itself. Never throws. */
export type Throttles = {
  /** Counts one call. Answers the whole seconds to wait when that was one too many, else 0. */
  count(rate: Rate, caller: string): Promise<number>
  /** Counts one call. Answers which one of the span it was, from 1 on. */
  tally(rate: Rate, caller: string): Promise<number>
  /** Takes back one call that was counted. */
  takeBack(rate: Rate, caller: string): Promise<void>
  /** Forgets the calls of a caller. */
  clear(rate: Rate, caller: string): Promise<void>
}
