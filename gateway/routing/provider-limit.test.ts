import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { aBackend } from './made-up-route.fixture.ts'
import { createProviderLimit, type FurtherCalls } from './provider-limit.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

/** A provider that is sent requests and split ones; `sentAtMs` are the times of all that it gets. */
function openLimit(requestsPerMinute: number) {
  const { provider } = aBackend('p', 0, 1, { requestsPerMinute })
  const limit = createProviderLimit({ nowMs: Date.now, liveGateways: () => 1 })
  const sentAtMs: number[] = []
  const jobs: Job[] = []

  function ask(): 'sent' | 'refused' {
    if (limit.take(provider) > 0) return 'refused'
    sentAtMs.push(Date.now())
    return 'sent'
  }

  /** Sends one call after the other, each as soon as it may. */
  function split(count: number, timeMs: number): Job | ReturnType<FurtherCalls['reserve']> {
    if (limit.take(provider) > 0) expect.fail('the first one has no place')
    const calls = limit.furtherCalls(provider)
    const tooMany = calls.reserve(count, timeMs)
    if (tooMany !== undefined) return tooMany
    sentAtMs.push(Date.now())
    const job: Job = { beganAtMs: Date.now(), unsent: count, lastAtMs: undefined, leave: calls.leave }
    const next = () =>
      calls.onTurn(() => {
        sentAtMs.push(Date.now())
        job.lastAtMs = Date.now()
        job.unsent -= 1
        if (job.unsent === 0) calls.leave()
        else next()
      })
    next()
    jobs.push(job)
    return job
  }

  /**
   * Sends a request each `everyMs` until all split calls are sent. Returns how many were sent and how many
   * requests asked.
   */
  function askUntilSent(everyMs: number): { sent: number; asked: number } {
    const count = { sent: 0, asked: 0 }
    while (jobs.some(({ unsent }) => unsent > 0)) {
      vi.advanceTimersByTime(everyMs)
      count.asked += 1
      if (ask() === 'sent') count.sent += 1
    }
    return count
  }
  return { ask, split, askUntilSent, sentAtMs }
}

type Job = { readonly beganAtMs: number; unsent: number; lastAtMs: number | undefined; leave(): void }

function begun(job: Job | ReturnType<FurtherCalls['reserve']>): Job {
  return job !== undefined && 'unsent' in job ? job : expect.fail('was not begun')
}

function mostInAMinute(sentAtMs: readonly number[]): number {
  let first = 0
  let most = 0
  for (const [index, atMs] of sentAtMs.entries()) {
    while ((sentAtMs[first] ?? atMs) <= atMs - 60_000) first += 1
    most = Math.max(most, index - first + 1)
  }
  return most
}

describe('a split request', () => {
  test.each([37, 1, 250])('leaves half of the flow to other callers, each %i ms', (everyMs) => {
    const { split, askUntilSent, sentAtMs } = openLimit(600)
    const job = begun(split(1_499, 600_000))
    const { sent, asked } = askUntilSent(everyMs)
    const minutes = (job.lastAtMs ?? 0) / 60_000
    expect(sent).toBeGreaterThanOrEqual(Math.min(asked, Math.floor(minutes * 270)) * 0.99)
    expect(mostInAMinute(sentAtMs)).toBeLessThanOrEqual(600)
  })

  test('leaves half of what may go at once', () => {
    const { split, ask } = openLimit(600)
    begun(split(1_000, 600_000))
    expect(Array.from({ length: 31 }, ask).filter((outcome) => outcome === 'sent')).toHaveLength(30)
  })

  test('has the whole flow while there are no other requests', () => {
    const { split } = openLimit(600)
    const job = begun(split(569, 600_000))
    vi.advanceTimersByTime(60_000) // 29 at once, 9 a second
    expect(job.lastAtMs).toBeLessThanOrEqual(60_000)
  })

  test.each([1, 2, 3, 10, 20, 600])(
    'is sent in the calculated time, at %i a minute, whatever other callers do',
    (limit) => {
      const { split, askUntilSent } = openLimit(limit)
      const timeMs = neededMs(limit, 50)
      expect(split(50, timeMs - 50)).toMatchObject({ callsMax: 50 })
      const job = begun(split(50, timeMs))
      const { sent } = askUntilSent(Math.ceil(20_000 / limit))
      expect(job.lastAtMs).toBeLessThanOrEqual(timeMs + 100)
      expect(sent).toBeGreaterThanOrEqual(20)
    },
  )

  test('is not begun where others are owed the time; who is begun is sent in time', () => {
    const { split, askUntilSent, sentAtMs } = openLimit(600)
    const timeMs = 300_000 // 1350 calls, with any number of competing requests
    const first = begun(split(1_000, timeMs))
    const refused = split(500, timeMs)
    expect(refused).toMatchObject({ callsMax: 1_351, retryAfterMs: expect.any(Number) })
    expect(split(1_400, timeMs)).toMatchObject({ callsMax: 1_351, retryAfterMs: null })
    const small = begun(split(300, timeMs))
    askUntilSent(50)
    for (const job of [first, small]) expect(job.lastAtMs).toBeLessThanOrEqual(timeMs)
    expect(mostInAMinute(sentAtMs)).toBeLessThanOrEqual(600)
  })

  test('fits at the time given for the retry', () => {
    const { split, ask } = openLimit(600)
    begun(split(1_000, 300_000))
    const refused = split(500, 300_000)
    const waitMs = (refused !== undefined && 'callsMax' in refused && refused.retryAfterMs) || 0
    for (let ms = 0; ms < waitMs - 5_000; ms += 50) {
      vi.advanceTimersByTime(50)
      ask()
    }
    vi.advanceTimersByTime(5_000)
    begun(split(500, 300_000))
  })

  test('gets the place that is due to it, although its timer is late', () => {
    const { ask, split } = openLimit(60)
    const job = begun(split(10, 60_000))
    while (ask() === 'sent');
    vi.advanceTimersByTime(1_112)
    expect(ask()).toBe('sent')
    vi.setSystemTime(2_224) // no timer has seen it yet
    expect(ask()).toBe('refused')
    const { unsent } = job
    vi.advanceTimersByTime(1_112)
    expect(job.unsent).toBe(unsent - 1)
  })

  test('owes nothing any more once it is over, and lets the next one go', () => {
    const { split } = openLimit(600)
    const first = begun(split(1_000, 300_000))
    expect(split(1_000, 300_000)).toMatchObject({ callsMax: 1_351 })
    first.leave()
    const second = begun(split(1_000, 300_000))
    vi.advanceTimersByTime(120_000)
    expect(second.unsent).toBe(0)
    expect(first.unsent).toBeGreaterThan(900)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that does not fit takes no place', () => {
    const { split, ask } = openLimit(60)
    for (let n = 0; n < 10; n += 1)
      expect(split(500, 60_000)).toMatchObject({ callsMax: 28, retryAfterMs: null })
    expect(Array.from({ length: 7 }, ask).filter((outcome) => outcome === 'sent')).toHaveLength(6)
  })
})

/** Two places of the flow for each call but the first, which may have to wait for one. */
function neededMs(limit: number, count: number): number {
  const flow = Math.max(limit - Math.max(1, limit / 10), limit / 2)
  return Math.ceil((2 * count - 1) * (60_000 / flow))
}
