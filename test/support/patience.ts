import { vi } from 'vitest'

/**
 * How long a test waits for a condition, and how often it looks, unless it says otherwise.
 *
 * Vitest's own second is for one process on an idle machine; here several processes share two cores. A condition
 * that comes true is seen just as soon.
 */
const patience = { timeout: 10_000, interval: 20 }

const waitFor = vi.waitFor
vi.waitFor = (callback, options) =>
  waitFor(callback, typeof options === 'number' ? options : { ...patience, ...options })
