import type { Verdict } from '../../routing/attempt-gate.ts'
import { type Failure, failureOfDeadline, wasCalled } from '../../upstream/failure.ts'
import { troubleOf } from '../../upstream/trouble.ts'
import type { Served } from '../served.ts'

type Timeouts = { readonly requestMs: number; readonly firstByteMs: number }

/** Part of its first-byte time after which an answer that did begin was slow. */
const slowShare = 0.5
/** A connection that is not there after a second is the provider's doing, whatever the caller's deadline was. */
const fairConnectMs = 1_000
/** A provider that had to wait for longer than this may have cut the stream because its reader did not read. */
const fairHoldMs = 1_000

/** Whether a stream that began after `ms` did so in time: one that nearly timed out is as good as failing. */
export function startOf(ms: number, { firstByteMs }: Timeouts): 'in_time' | 'late' {
  return ms > firstByteMs * slowShare ? 'late' : 'in_time'
}

/**
 * The result of an attempt of `ms` for its backend's health. A backend that reports an invalid request is
 * healthy. A time-out counts only if there was enough time: callers may ask for any deadline, and must not be
 * able to make a backend look unhealthy with it.
 */
export function verdictOf(served: Served, ms: number, timeouts: Timeouts): Verdict {
  switch (served.kind) {
    case 'plain':
      return served.answer === null ? 'unknown' : 'good'
    case 'streamed':
      if (served.cutBy === null) return 'good'
      if (isOfCaller(served.cutBy) || served.heldUpMs > fairHoldMs) return 'unknown'
      return { failed: { retryAfterMs: null, trouble: 'cut' } }
    case 'left_unanswered':
      return 'unknown'
    case 'failed': {
      const { kind, result, recovery, retryAfterMs } = served.failure
      if (isOfCaller(served.failure) || !wasCalled(served.failure)) return 'unknown'
      // A single request larger than our account may send per minute: smaller requests are served.
      if (kind === 'overloaded' && result === 'status_413') return 'unknown'
      if (recovery === 'nowhere' || recovery === 'larger_context') return 'good'
      if (result === 'connect_timeout' && ms < fairConnectMs) return 'unknown'
      if (result === 'first_byte_timeout' && ms < fairFirstByteMsOf(timeouts)) return 'unknown'
      return { failed: { retryAfterMs, trouble: troubleOf(served.failure) } }
    }
  }
}

/** The time of the whole request is the caller's: by asking for little of it, by reading slowly. */
function isOfCaller(failure: Failure | null): boolean {
  return failure === failureOfDeadline
}

/** A plain attempt gets half of the request's time where another one could follow. */
function fairFirstByteMsOf({ requestMs, firstByteMs }: Timeouts): number {
  return Math.min(firstByteMs, requestMs / 2) - timerSlackMs
}

/** Timers and clocks differ by a little. */
const timerSlackMs = 5
