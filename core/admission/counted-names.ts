/** Whose sums are looked at even where nothing is there that they could be of. */
export type CountedNames = {
  readonly requestIds: readonly string[]
  readonly organizationIds: readonly string[]
  readonly keyIds: readonly string[]
  /** Members with a budget, each as `<organization>.<user>`. */
  readonly memberIds: readonly string[]
  /** Of the keys' sums: every day that is there, or only yesterday's and today's. */
  readonly days: 'every' | 'recent'
  /** Entries read in one call, some 5 µs each. Redis serves no other client during the call. */
  readonly entriesMax: number
}

/** A sum in Redis that was not what it stands for. Amounts are nano-rubles. */
export type WrongSum = {
  /** Of an organization, of a key, or of a member. */
  readonly id: string
  /** `pending`, `held`, or `<day>:pending`, `<day>:held`. */
  readonly field: string
  readonly was: string
  readonly isNow: string
}
