import { expect, test } from 'vitest'
import { postedUntilMs } from './posted-until.ts'

test.each([
  ['at once', 0, 1],
  ['by a server that was slow', 180, 190],
  ['at a later try, since its shard was moving', 1_040, 1_041],
])(
  'a charge is not posted after its client got an error, if its hold was made %s',
  (_, heldAfterMs, admitMs) => {
    const clockAheadMs = 1_700_000_000_000 // of Redis
    const [sentAtMs, readingEndsAtMs, nowMs, patienceMs] = [3_000, 63_000, 20_000, 5_000]
    const deadlineMs = sentAtMs + clockAheadMs + heldAfterMs + (readingEndsAtMs - sentAtMs)
    const untilMs = postedUntilMs({ deadlineMs, admitMs, readingEndsAtMs, patienceMs, nowMs })
    const errorAtMs = nowMs + patienceMs + clockAheadMs
    expect(untilMs).toBeLessThan(errorAtMs)
    expect(untilMs).toBeGreaterThan(errorAtMs - 150) // it may take nearly as long as its client waits
  },
)
