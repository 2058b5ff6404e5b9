import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLook } from './look.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A check that ends when the test ends it. */
function heldLook() {
  const ends: (() => void)[] = []
  const look = createLook(
    () => new Promise<void>((resolve) => ends.push(resolve)),
    () => {},
  )
  return { look, ends, pass: () => vi.advanceTimersByTimeAsync(1_000) }
}

test('what is asked for during a look happens once, after it', async () => {
  const { look, ends, pass } = heldLook()
  look.soon(500)
  await pass()
  for (let asked = 0; asked < 3; asked++) look.soon(500)
  await pass()
  expect(ends).toHaveLength(1)
  ends[0]?.()
  await pass()
  expect(ends).toHaveLength(2)
  ends[1]?.()
  await pass()
  expect(ends).toHaveLength(2)
})

test('who wants to look now waits for the look under way', async () => {
  const { look, ends, pass } = heldLook()
  look.soon(0)
  await pass()
  const looked = look.now()
  await pass()
  expect(ends).toHaveLength(1)
  ends[0]?.()
  await pass()
  ends[1]?.()
  await looked
})

test('stop waits for the look under way, and none begins afterwards', async () => {
  const { look, ends, pass } = heldLook()
  look.soon(0)
  await pass()
  look.soon(0)
  let isStopped = false
  const stopping = look.stop().then(() => {
    isStopped = true
  })
  await pass()
  expect(isStopped).toBe(false)
  ends[0]?.()
  await stopping
  look.soon(0)
  await pass()
  expect(ends).toHaveLength(1)
})

test('a failed check is reported, and the next one happens', async () => {
  const errors: unknown[] = []
  const away = new Error('away')
  const look = createLook(
    () => Promise.reject(away),
    (error) => errors.push(error),
  )
  look.soon(0)
  await vi.advanceTimersByTimeAsync(1)
  look.soon(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(errors).toEqual([away, away])
  await expect(look.now()).rejects.toBe(away)
})
