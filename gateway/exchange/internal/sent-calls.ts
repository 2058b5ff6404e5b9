import type { Failure } from '../../upstream/failure.ts'
import type { ProviderCall } from '../../upstream/provider-call.ts'

/** The calls of one attempt that were sent. */
export type SentCalls = {
  /** Their positions, without those that cost nothing. */
  positions(): readonly number[]
  /** Whether none of them runs. */
  areOver(): boolean
  add(call: ProviderCall, position: number): void
  end(call: ProviderCall): void
  /** A call whose failure does not end the others, because only their usage is waited for. */
  fail(call: ProviderCall, position: number, failure: Failure): void
  cancel(): void
}

/** A provider that broke off, or answered something else, may bill its work. An error or a lost connection costs nothing. */
const brokenOff: ReadonlySet<string> = new Set(['cut', 'idle_timeout', 'first_byte_timeout'])

export function createSentCalls(): SentCalls {
  const running = new Set<ProviderCall>()
  const positions = new Set<number>()
  return {
    positions: () => [...positions],
    areOver: () => running.size === 0,
    add(call, position) {
      running.add(call)
      positions.add(position)
    },
    end: (call) => void running.delete(call),
    fail(call, position, { kind, result }) {
      call.cancel() // of one whose answer is too large, more would come
      running.delete(call)
      if (kind !== 'bad_answer' && !brokenOff.has(result)) positions.delete(position)
    },
    cancel() {
      for (const call of running) call.cancel()
    },
  }
}
