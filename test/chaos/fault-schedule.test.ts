import { expect, test } from 'vitest'
import { type Fault, faultKinds, scheduleFaults } from './fault-schedule.ts'

function first(count: number, seed: number): readonly Fault[] {
  const faults: Fault[] = []
  for (const fault of scheduleFaults({ seed, faultsEveryMs: [3_000, 10_000], freezeMsMax: 30_000 }))
    if (faults.push(fault) === count) break
  return faults
}

test('a seed replays its faults, and another seed has others', () => {
  expect(first(50, 7)).toEqual(first(50, 7))
  expect(first(50, 7)).not.toEqual(first(50, 8))
})

test('every kind of fault comes up, spaced and lasting as asked', () => {
  const faults = first(500, 1)
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(faultKinds))
  for (const { afterMs, lastsMs, place } of faults) {
    expect(afterMs).toBeGreaterThanOrEqual(3_000)
    expect(afterMs).toBeLessThanOrEqual(10_000)
    expect(lastsMs).toBeLessThanOrEqual(30_000)
    expect(place).toBeLessThan(1)
  }
})
