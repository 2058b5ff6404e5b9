import { createCallLine, type LinePlace } from './internal/call-line.ts'
import {
  callsWithin,
  giveBack,
  msForCalls,
  noCallsYet,
  type RateBucket,
  takeCall,
  takeRequest,
} from './internal/provider-rate.ts'
import type { Provider } from './route-table.ts'

/**
 * `callsMax`: how many of a request would be sent if no other such request were served. `retryAfterMs`:
 * `null` if it has more.
 */
type TooManyCalls = { readonly callsMax: number; readonly retryAfterMs: number | null }

/** The calls that one attempt makes beyond its first. */
export type FurtherCalls = {
  /**
   * Puts so many of them into the provider's line. Where they may not all be sent in `timeMs`, none is, and the attempt
   * gives back its own place, too: it must not be begun.
   */
  reserve(count: number, timeMs: number): TooManyCalls | undefined
  /** Calls `go` when the next of them may be sent, which may be at once; not any more after `leave`. */
  onTurn(go: () => void): void
  /** The attempt is over: what was not sent of them is owed no more. */
  leave(): void
}

/** This replica's share of one provider's own limit, and who waits for it. Without a limit there is room for all. */
export type ProviderLimit = {
  /** Takes a place for a request and returns 0, or returns the ms until there is one. */
  take(provider: Provider): number
  /** Of an attempt that has its place. */
  furtherCalls(provider: Provider): FurtherCalls
}

export type LimitDeps = {
  /** Of any clock. */
  readonly nowMs: () => number
  /** Gateways that share a provider's limit, this one included. */
  readonly liveGateways: () => number
}

/** A limit of which nothing is used yet. */
export function createProviderLimit({ nowMs, liveGateways }: LimitDeps): ProviderLimit {
  let bucket: RateBucket | undefined
  let schedule = noCallsYet
  const line = createCallLine()

  function takeForCall(limit: number): number {
    const taken = takeCall(bucket, schedule, limit / liveGateways(), nowMs())
    bucket = taken.bucket
    schedule = taken.schedule
    return taken.waitMs
  }

  function findTooMany(count: number, timeMs: number, share: number): TooManyCalls | undefined {
    const neededMs = msForCalls(line.owed() + count, schedule, share, nowMs())
    if (neededMs <= timeMs) return undefined
    const fitting = callsWithin(timeMs, share)
    return { callsMax: 1 + fitting, retryAfterMs: count > fitting ? null : Math.ceil(neededMs - timeMs) }
  }

  return {
    take({ requestsPerMinute: limit }) {
      if (limit === undefined) return 0
      const left = line.isWaiting() && nowMs() >= schedule.dueAtMs ? 1 : 0
      const taken = takeRequest(bucket, limit / liveGateways(), nowMs(), left)
      bucket = taken.bucket
      return taken.waitMs
    },
    furtherCalls({ requestsPerMinute: limit }) {
      let place: LinePlace | undefined
      return {
        reserve(count, timeMs) {
          if (limit === undefined || count === 0) return undefined
          const tooMany = findTooMany(count, timeMs, limit / liveGateways())
          if (tooMany === undefined) place = line.join(count, () => takeForCall(limit))
          else if (bucket !== undefined) bucket = giveBack(bucket)
          return tooMany
        },
        onTurn(go) {
          if (place === undefined) go()
          else place.wait(go)
        },
        leave: () => place?.leave(),
      }
    },
  }
}
