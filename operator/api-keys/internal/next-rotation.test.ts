import { expect, test } from 'vitest'
import { createReady, settle } from './key-happenings.fixture.ts'
import { gather, secretValue, type World } from './key-world.fixture.ts'
import { nextLook } from './next-look.ts'
import { nextRotationMs } from './next-rotation.ts'

const hourMs = 3_600_000

function nextOf(world: World, uid?: string): number | undefined {
  if (world.object === undefined) return undefined
  const gathered = gather(world, world.object, 'none')
  const { object } = gathered
  return nextRotationMs({ ...gathered, object: { ...object, uid: uid ?? object.uid } }, world.object.draft)
}

test('is due within the last tenth of the interval, at another time for each ApiKey, and always at the same one', () => {
  const world = createReady({ rotationIntervalS: 10 * 3600 })
  const times = Array.from({ length: 50 }, (_, index) => (nextOf(world, `uid-${index}`) ?? 0) - world.nowMs)
  expect(Math.min(...times)).toBeGreaterThanOrEqual(9 * hourMs)
  expect(Math.max(...times)).toBeLessThanOrEqual(10 * hourMs)
  expect(new Set(times).size).toBeGreaterThan(45)
  expect(nextOf(world)).toBe(nextOf(world))
  expect(nextOf(createReady())).toBeUndefined()
})

test('comes at that time, once, and the next one an interval later', () => {
  const world = createReady({ rotationIntervalS: 10 * 3600 })
  const first = secretValue(world)
  const dueMs = nextOf(world) ?? 0
  expect(world.object && nextLook(gather(world, world.object, 'none'))).toEqual({
    afterMs: dueMs - world.nowMs,
  })
  world.nowMs = dueMs - 1
  settle(world)
  expect(secretValue(world)).toBe(first)
  world.nowMs = dueMs
  settle(world)
  const second = secretValue(world)
  expect(second).not.toBe(first)
  expect(nextOf(world)).toBeGreaterThanOrEqual(dueMs + 9 * hourMs)
  world.nowMs += 8 * hourMs
  settle(world)
  expect(secretValue(world)).toBe(second)
})
