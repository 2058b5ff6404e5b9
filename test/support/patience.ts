import { vi } from 'vitest'

/**
 * How long a test waits for a condition, and how often it checks, by default.
 *
 * Vitest's own second is for one process on an idle machine. Here several processes share two cores. One
 * whose tries failed while they were busy pauses up to 30 s before the next (the operator's reflectors). A
 * condition that becomes true is noticed just as soon. The tests of time (`slow-timed`) check how soon it must.
 */
const patience = { timeout: 35_000, interval: 20 }

const waitFor = vi.waitFor
vi.waitFor = (callback, options) =>
  waitFor(callback, typeof options === 'number' ? options : { ...patience, ...options })
