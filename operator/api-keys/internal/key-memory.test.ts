import { describe, expect, test } from 'vitest'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { isStatusForeign, noteTold, type Remembered } from './key-memory.ts'
import { nextRepairAtMs, repairsMax } from './repair-limit.ts'

const apiKey = (status?: object, uid = 'uid-1'): ClusterObject => ({
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'ApiKey',
  metadata: { name: 'ci', namespace: 'team-a', uid },
  ...(status === undefined ? {} : { status }),
})

describe('a status', () => {
  test('that comes back from our own writes is not foreign, however late and in whatever order of write and answer', () => {
    const remembered: Remembered = {}
    expect(isStatusForeign(remembered, apiKey())).toBe(false)
    noteTold(remembered, apiKey(), { keyID: 'a' })
    noteTold(remembered, apiKey(), { keyID: 'b' })
    for (const status of [undefined, { keyID: 'a' }, { keyID: 'b' }])
      expect(isStatusForeign(remembered, apiKey(status))).toBe(false)
  })

  test('that another writer changed is foreign, even if it equals the earlier one', () => {
    const remembered: Remembered = {}
    noteTold(remembered, apiKey(), { keyID: 'a' })
    noteTold(remembered, apiKey({ keyID: 'a' }), { keyID: 'b' })
    expect(isStatusForeign(remembered, apiKey({ keyID: 'of somebody' }))).toBe(true)
    expect(isStatusForeign(remembered, apiKey({ keyID: 'b' }))).toBe(false)
    expect(isStatusForeign(remembered, apiKey({ keyID: 'a' }))).toBe(true)
    expect(isStatusForeign(remembered, apiKey())).toBe(true)
  })

  test('of another object of the same name is ignored', () => {
    const remembered: Remembered = {}
    noteTold(remembered, apiKey(), { keyID: 'a' })
    expect(isStatusForeign(remembered, apiKey({ keyID: 'c' }, 'uid-2'))).toBe(false)
  })
})

test('five repairs of a Secret within an hour are made at once, the next when the first of them is an hour ago', () => {
  const hourMs = 3_600_000
  const repairs = Array.from({ length: repairsMax }, (_, index) => 1_000 * index)
  expect(nextRepairAtMs([], 0)).toBe(0)
  expect(nextRepairAtMs(repairs.slice(1), 5_000)).toBe(0)
  expect(nextRepairAtMs(repairs, 5_000)).toBe(hourMs)
  expect(nextRepairAtMs(repairs, hourMs)).toBe(0)
})
