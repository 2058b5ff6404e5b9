/** Keys remembered: those of a busy minute; the oldest is forgotten first. */
const rememberedMax = 4_096
const windowMs = 60_000
/** How many counts a key has for each of its requests per minute. */
const countsPerRequest = 10

type Window = { readonly startedAtMs: number; count: number }

/** Bounds the counts of a key on this gateway, which are free: a multiple of its RPM in each minute. */
export type CountLimit = {
  /** Takes one; otherwise how long until there are more, in ms. @param rpm of the key. */
  take(keyId: string, rpm: number): { readonly limit: number; readonly retryAfterMs: number } | undefined
}

/** @param now `performance.now`. */
export function createCountLimit(now: () => number): CountLimit {
  const windows = new Map<string, Window>()
  return {
    take(keyId, rpm) {
      const limit = countsPerRequest * rpm
      const known = windows.get(keyId)
      const isOpen = known !== undefined && now() - known.startedAtMs < windowMs
      const window = isOpen ? known : { startedAtMs: now(), count: 0 }
      if (!isOpen) {
        windows.delete(keyId)
        const [oldest] = windows.size < rememberedMax ? [] : windows.keys()
        if (oldest !== undefined) windows.delete(oldest)
        windows.set(keyId, window)
      }
      if (window.count >= limit) return { limit, retryAfterMs: windowMs - (now() - window.startedAtMs) }
      window.count += 1
      return undefined
    },
  }
}
