import type { Throttles } from '#cabinet/api/throttles'

/** Nobody ever waits. */
export const noThrottles: Throttles = { count: async () => 0, clear: async () => undefined }
