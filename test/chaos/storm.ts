import type { FaultKind } from './fault-schedule.ts'

export type ChaosOptions = {
  readonly seed: number
  /** Where admission runs: one Redis, or a cluster of six servers. */
  readonly redis: 'single' | 'cluster'
  /** The storm ends with whichever comes first; requests go on until all has healed. */
  readonly requestsMax: number
  readonly secondsMax: number
  readonly faultsEveryMs: readonly [least: number, most: number]
  readonly freezeMsMax: number
  readonly ratePerS: number
  readonly renewEveryMs: number
  readonly leaseMs: number
  /** Hears of each fault as it begins. */
  readonly say: (line: string) => void
}

/** What happened between the first fault and the last. */
export type Storm = {
  readonly counts: Partial<Record<FaultKind, number>>
  leftOut: number
  readonly healSeconds: (number | undefined)[]
  /** Processes that ended without being killed by a fault, or that could not be started. */
  readonly crashes: string[]
}
