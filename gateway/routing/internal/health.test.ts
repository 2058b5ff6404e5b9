import { describe, expect, test } from 'vitest'
import {
  afterFailure,
  afterLostProbe,
  afterProbe,
  afterSuccess,
  type Health,
  nextProbeAtMs,
  stateOf,
  well,
} from './health.ts'

function failing(times: number, atMs = 0, health: Health = well): Health {
  return times === 0 ? health : failing(times - 1, atMs, afterFailure(health, atMs, null))
}

describe('a backend that fails', () => {
  test('is used until it has failed five times in a row', () => {
    expect(stateOf(failing(4), 0)).toBe('well')
    expect(stateOf(failing(5), 0)).toBe('resting')
    expect(stateOf(failing(4, 0, afterSuccess(failing(4), 0)), 0)).toBe('well')
  })

  test('rests a second, then lets one probe at a time through', () => {
    const sick = failing(5)
    expect(stateOf(sick, 999)).toBe('resting')
    expect(stateOf(sick, 1_000)).toBe('due')
    const probed = afterProbe(sick, 1_000)
    expect(stateOf(probed, 1_000)).toBe('probing')
    expect(stateOf(afterLostProbe(probed), 1_000)).toBe('due')
  })

  test('is probed again when a probe stays silent', () => {
    const probed = afterProbe(failing(5), 1_000)
    expect(stateOf(probed, nextProbeAtMs(probed) - 1)).toBe('probing')
    expect(stateOf(probed, nextProbeAtMs(probed))).toBe('due')
  })

  test('rests twice as long after each failed probe, a minute at most', () => {
    let sick = failing(5)
    let nowMs = 0
    const pausesMs = Array.from({ length: 9 }, () => {
      const pauseMs = sick.restsUntilMs - nowMs
      nowMs = sick.restsUntilMs
      sick = afterFailure(afterProbe(sick, nowMs), nowMs, null)
      return pauseMs
    })
    expect(pausesMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  })

  test('rests no longer for what was sent before it rested', () => {
    expect(failing(200)).toEqual(failing(5))
  })

  test('is well after one good answer, and begins with a short pause the next time', () => {
    const healed = afterSuccess(afterProbe(failing(5), 1_000), 1_200)
    expect(healed).toEqual(well)
    expect(failing(5, 2_000, healed).restsUntilMs).toBe(3_000)
  })
})

describe('a backend that asks to be left alone', () => {
  test('is, from its first word on, for as long as it asks', () => {
    const asked = afterFailure(well, 0, 7_000)
    expect(stateOf(asked, 6_999)).toBe('asked')
    expect(stateOf(asked, 7_000)).toBe('due')
  })

  test('but not for longer than half a minute', () => {
    expect(afterFailure(well, 0, 86_400_000).restsUntilMs).toBe(30_000)
  })

  test('is not woken by an answer that was begun before', () => {
    const asked = afterFailure(well, 0, 7_000)
    expect(stateOf(afterSuccess(asked, 100), 200)).toBe('asked')
    expect(afterSuccess(asked, 7_000)).toEqual(well)
  })

  test('keeps the longest wait it asked for', () => {
    expect(afterFailure(afterFailure(well, 0, 7_000), 10, 1_000).restsUntilMs).toBe(7_000)
  })

  test('counts as failing where it names no time', () => {
    expect(stateOf(afterFailure(well, 0, 0), 0)).toBe('well')
    expect(afterFailure(well, 0, 0).failures).toBe(1)
  })
})
