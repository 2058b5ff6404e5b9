import { expect, test } from 'vitest'
import { type RateBucket, takeRequest } from './provider-rate.ts'

/** Times at which requests that are tried every `everyMs` go through. */
function sentAtMs(sharePerMinute: number, everyMs: number, spanMs: number): number[] {
  let bucket: RateBucket | undefined
  const sent: number[] = []
  for (let nowMs = 0; nowMs < spanMs; nowMs += everyMs) {
    const taken = takeRequest(bucket, sharePerMinute, nowMs)
    bucket = taken.bucket
    if (taken.waitMs === 0) sent.push(nowMs)
  }
  return sent
}

test.each([2, 3, 10, 60, 999])('no minute sees more than a share of %i requests', (share) => {
  const sent = sentAtMs(share, 7, 300_000)
  for (const [index, atMs] of sent.entries())
    expect(sent.slice(index).filter((laterMs) => laterMs < atMs + 60_000).length).toBeLessThanOrEqual(share)
  expect(sent.length).toBeGreaterThanOrEqual(share * 5 * 0.5)
})

test('a share of less than one request a minute is served now and then', () => {
  expect(sentAtMs(0.5, 1_000, 600_000).length).toBeGreaterThan(1)
  expect(sentAtMs(0.5, 1_000, 600_000).length).toBeLessThanOrEqual(6)
})

test('a request that must wait gets the time, and gets through then', () => {
  let taken = takeRequest(undefined, 60, 0)
  for (; taken.waitMs === 0; taken = takeRequest(taken.bucket, 60, 0));
  expect(taken.waitMs).toBeGreaterThan(0)
  expect(takeRequest(taken.bucket, 60, taken.waitMs - 2).waitMs).toBeGreaterThan(0)
  expect(takeRequest(taken.bucket, 60, taken.waitMs).waitMs).toBe(0)
})

test('a pause saves up no more than a tenth of the share', () => {
  const { bucket } = takeRequest(undefined, 100, 0)
  let taken = takeRequest(bucket, 100, 3_600_000)
  let count = 0
  for (; taken.waitMs === 0; count += 1) taken = takeRequest(taken.bucket, 100, 3_600_000)
  expect(count).toBe(10)
})
