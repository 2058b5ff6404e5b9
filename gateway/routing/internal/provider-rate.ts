/** Requests that a replica may still send to a provider, as of `atMs`. */
export type RateBucket = { readonly tokens: number; readonly atMs: number }

/** Part of a minute's requests that may go at once. */
const burstShare = 0.1
const minuteMs = 60_000

/** When the next further call of split requests has a right to a place. */
export type CallSchedule = { readonly dueAtMs: number }

/** No call has waited yet. */
export const noCallsYet: CallSchedule = { dueAtMs: Number.NEGATIVE_INFINITY }

/** Every second place of what flows in is for further calls of split requests, while there are any. */
const placesPerCall = 2

/**
 * Takes one request out of a replica's share of a provider's limit; `waitMs` > 0 means that none was left and
 * is the time until the next.
 *
 * Immediate requests and those that flow in afterwards are together never above the share in any minute. The
 * exception is a share of less than two: then one request goes at once, and half of the share after it.
 *
 * @param bucket as returned before; `undefined`: nothing was sent yet.
 * @param sharePerMinute the provider's limit ÷ live replicas.
 * @param left places that are reserved for others.
 */
export function takeRequest(
  bucket: RateBucket | undefined,
  sharePerMinute: number,
  nowMs: number,
  left = 0,
): { readonly bucket: RateBucket; readonly waitMs: number } {
  const { tokens, perMs } = levelOf(bucket, sharePerMinute, nowMs)
  const needed = 1 + left
  if (tokens < needed)
    return { bucket: { tokens, atMs: nowMs }, waitMs: Math.ceil((needed - tokens) / perMs) }
  return { bucket: { tokens: tokens - 1, atMs: nowMs }, waitMs: 0 }
}

/** The bucket with the place of a request that was not sent after all. */
export function giveBack({ tokens, atMs }: RateBucket): RateBucket {
  return { tokens: tokens + 1, atMs }
}

/**
 * Takes a further call of a split request out of the same share: at any time where more than half of what may go at
 * once is there, else every second place that flows in. The rest is for other requests.
 */
export function takeCall(
  bucket: RateBucket | undefined,
  { dueAtMs }: CallSchedule,
  sharePerMinute: number,
  nowMs: number,
): { readonly bucket: RateBucket; readonly schedule: CallSchedule; readonly waitMs: number } {
  const { tokens, perMs, burst } = levelOf(bucket, sharePerMinute, nowMs)
  const spare = 1 + burst / 2
  const spareInMs = spare > burst ? Number.POSITIVE_INFINITY : (spare - tokens) / perMs
  const dueInMs = Math.max(dueAtMs - nowMs, (1 - tokens) / perMs)
  const waitMs = Math.max(0, Math.ceil(Math.min(dueInMs, spareInMs)))
  if (waitMs > 0) return { bucket: { tokens, atMs: nowMs }, schedule: { dueAtMs }, waitMs }
  // From when it was due: a call that waited for its place must not make all that follow later, too.
  const nextAtMs = Math.max(nowMs, Math.min(nowMs, dueAtMs) + placesPerCall / perMs)
  return { bucket: { tokens: tokens - 1, atMs: nowMs }, schedule: { dueAtMs: nextAtMs }, waitMs }
}

/**
 * The latest time in ms after which the last of `count` further calls is sent, with any number of competing
 * requests.
 */
export function msForCalls(
  count: number,
  { dueAtMs }: CallSchedule,
  sharePerMinute: number,
  nowMs: number,
): number {
  if (count === 0) return 0
  return Math.ceil(
    Math.max(0, dueAtMs - nowMs) + (count - 1) * callMsOf(sharePerMinute) + lagMsOf(sharePerMinute),
  )
}

/**
 * How many further calls are sent within `timeMs`, with any number of competing requests, if no other split
 * request is served.
 */
export function callsWithin(timeMs: number, sharePerMinute: number): number {
  const msAfterFirst = timeMs - lagMsOf(sharePerMinute)
  return msAfterFirst < 0 ? 0 : 1 + Math.floor(msAfterFirst / callMsOf(sharePerMinute))
}

/** Time between two further calls that are due. */
function callMsOf(sharePerMinute: number): number {
  return placesPerCall / flowPerMs(sharePerMinute)
}

/** How long a call that is due may have to wait for its place: until the next one is there. */
function lagMsOf(sharePerMinute: number): number {
  return 1 / flowPerMs(sharePerMinute)
}

function levelOf(bucket: RateBucket | undefined, sharePerMinute: number, nowMs: number) {
  const burst = burstOf(sharePerMinute)
  const perMs = flowPerMs(sharePerMinute)
  const flowed = bucket === undefined ? burst : bucket.tokens + (nowMs - bucket.atMs) * perMs
  return { tokens: Math.min(burst, flowed), perMs, burst }
}

function burstOf(sharePerMinute: number): number {
  return Math.max(1, sharePerMinute * burstShare)
}

function flowPerMs(sharePerMinute: number): number {
  return Math.max(sharePerMinute - burstOf(sharePerMinute), sharePerMinute / 2) / minuteMs
}
