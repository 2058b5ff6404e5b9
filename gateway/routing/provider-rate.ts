/** Requests that a replica may still send to a provider, as of `atMs`. */
export type RateBucket = { readonly tokens: number; readonly atMs: number }

/** Part of a minute's requests that may go at once. */
const burstShare = 0.1
const minuteMs = 60_000

/**
 * Takes one request out of a replica's share of a provider's limit; `waitMs` > 0 says that none was left and when
 * there will be one.
 *
 * What may go at once and what flows in afterwards are together never above the share in any minute, except for a
 * share of less than two: then one request goes at once, and half of the share after it.
 *
 * @param bucket as answered before; `undefined`: nothing was sent yet.
 * @param sharePerMinute the provider's limit ÷ live replicas.
 */
export function takeRequest(
  bucket: RateBucket | undefined,
  sharePerMinute: number,
  nowMs: number,
): { readonly bucket: RateBucket; readonly waitMs: number } {
  const burst = Math.max(1, sharePerMinute * burstShare)
  const perMs = Math.max(sharePerMinute - burst, sharePerMinute / 2) / minuteMs
  const flowed = bucket === undefined ? burst : bucket.tokens + (nowMs - bucket.atMs) * perMs
  const tokens = Math.min(burst, flowed)
  if (tokens < 1) return { bucket: { tokens, atMs: nowMs }, waitMs: Math.ceil((1 - tokens) / perMs) }
  return { bucket: { tokens: tokens - 1, atMs: nowMs }, waitMs: 0 }
}
