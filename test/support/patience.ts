import { vi } from 'vitest'

/**
 * How long a test waits for a condition, and how often it looks, unless it says otherwise.
 *
 * Vitest's own second is for one process on an idle machine; here several processes share two cores, and one whose tries
 * failed while they were busy pauses up to 30 s before the next (the operator's reflectors). A condition that comes true
 * is seen just as soon; how soon it has to is what the `timed` tests promise.
 */
const patience = { timeout: 35_000, interval: 20 }

const waitFor = vi.waitFor
vi.waitFor = (callback, options) =>
  waitFor(callback, typeof options === 'number' ? options : { ...patience, ...options })
