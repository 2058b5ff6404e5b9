/** A number of calls of one caller in a time span. */
export type Rate = {
  /** Part of Redis key names: lower-case letters and underscores. */
  readonly name: string
  readonly count: number
  readonly perS: number
}

/** Counts calls over all replicas. While Redis is unavailable, each process counts by itself. Never throws. */
export type Throttles = {
  /** Counts one call. Returns the whole seconds to wait if the call exceeds the limit, otherwise 0. */
  count(rate: Rate, caller: string): Promise<number>
  /** Counts one call. Returns its number in the time span, starting at 1. */
  tally(rate: Rate, caller: string): Promise<number>
  /** Takes back one counted call. */
  takeBack(rate: Rate, caller: string): Promise<void>
  /** Resets the count of a caller. */
  clear(rate: Rate, caller: string): Promise<void>
}
