import { describe, expect, test } from 'vitest'
import {
  afterFailure,
  afterLostProbe,
  afterProbe,
  afterSuccess,
  type Health,
  healthy,
  nextProbeAtMs,
  stateOf,
} from './health.ts'

function failing(times: number, atMs = 0, health: Health = healthy): Health {
  return times === 0 ? health : failing(times - 1, atMs, afterFailure(health, atMs, null))
}

describe('a backend that fails', () => {
  test('is used until it has failed five times in a row', () => {
    expect(stateOf(failing(4), 0)).toBe('available')
    expect(stateOf(failing(5), 0)).toBe('cooling_down')
    expect(stateOf(failing(4, 0, afterSuccess(failing(4), 0)), 0)).toBe('available')
  })

  test('cools down for a second, then lets one probe at a time through', () => {
    const failed = failing(5)
    expect(stateOf(failed, 999)).toBe('cooling_down')
    expect(stateOf(failed, 1_000)).toBe('due')
    const probed = afterProbe(failed, 1_000)
    expect(stateOf(probed, 1_000)).toBe('probing')
    expect(stateOf(afterLostProbe(probed), 1_000)).toBe('due')
  })

  test('is probed again when a probe stays silent', () => {
    const probed = afterProbe(failing(5), 1_000)
    expect(stateOf(probed, nextProbeAtMs(probed) - 1)).toBe('probing')
    expect(stateOf(probed, nextProbeAtMs(probed))).toBe('due')
  })

  test('cools down twice as long after each failed probe, a minute at most', () => {
    let failed = failing(5)
    let nowMs = 0
    const pausesMs = Array.from({ length: 9 }, () => {
      const cooldownMs = failed.cooldownUntilMs - nowMs
      nowMs = failed.cooldownUntilMs
      failed = afterFailure(afterProbe(failed, nowMs), nowMs, null)
      return cooldownMs
    })
    expect(pausesMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  })

  test('cools down no longer for what was sent before it failed', () => {
    expect(failing(200)).toEqual(failing(5))
  })

  test('is healthy after one good answer, and begins with a short cooldown the next time', () => {
    const healed = afterSuccess(afterProbe(failing(5), 1_000), 1_200)
    expect(healed).toEqual(healthy)
    expect(failing(5, 2_000, healed).cooldownUntilMs).toBe(3_000)
  })
})

describe('a backend that asks to be left alone', () => {
  test('is, from its first word on, for as long as it asks', () => {
    const asked = afterFailure(healthy, 0, 7_000)
    expect(stateOf(asked, 6_999)).toBe('asked')
    expect(stateOf(asked, 7_000)).toBe('due')
  })

  test('but not for longer than half a minute', () => {
    expect(afterFailure(healthy, 0, 86_400_000).cooldownUntilMs).toBe(30_000)
  })

  test('is not woken by an answer that was begun before', () => {
    const asked = afterFailure(healthy, 0, 7_000)
    expect(stateOf(afterSuccess(asked, 100), 200)).toBe('asked')
    expect(afterSuccess(asked, 7_000)).toEqual(healthy)
  })

  test('keeps the longest wait it asked for', () => {
    expect(afterFailure(afterFailure(healthy, 0, 7_000), 10, 1_000).cooldownUntilMs).toBe(7_000)
  })

  test('counts as failing where it names no time', () => {
    expect(stateOf(afterFailure(healthy, 0, 0), 0)).toBe('available')
    expect(afterFailure(healthy, 0, 0).failures).toBe(1)
  })
})
