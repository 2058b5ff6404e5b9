import { expect, test } from 'vitest'
import type { ClusterObject } from './cluster-object.ts'
import { conditionsOf, mergeConditions } from './conditions.ts'

const first = Date.parse('2026-11-21T10:00:00.750Z')
const later = Date.parse('2026-11-21T11:00:00Z')
const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' } as const
const pending = { type: 'Ready', status: 'False', reason: 'Pending', message: 'not yet' } as const

test('unchanged conditions are the same to the byte, whatever the time', () => {
  const before = mergeConditions([], [accepted, pending], { generation: 1, nowMs: first })
  const after = mergeConditions(before, [accepted, pending], { generation: 1, nowMs: later })
  expect(JSON.stringify(after)).toBe(JSON.stringify(before))
  expect(before[0]?.lastTransitionTime).toBe('2026-11-21T10:00:00Z')
})

test('lastTransitionTime stays when only reason, message or generation change, and moves when the status does', () => {
  const before = mergeConditions([], [pending], { generation: 1, nowMs: first })
  const other = { ...pending, reason: 'GatewaysPending', message: '2/3' }
  const [said] = mergeConditions(before, [other], { generation: 2, nowMs: later })
  expect(said).toEqual({
    ...other,
    observedGeneration: 2,
    lastTransitionTime: '2026-11-21T10:00:00Z',
  })
  const [turned] = mergeConditions(before, [{ ...pending, status: 'True' }], { generation: 2, nowMs: later })
  expect(turned?.lastTransitionTime).toBe('2026-11-21T11:00:00Z')
})

test('a condition that is no longer wanted is removed', () => {
  const before = mergeConditions([], [accepted, pending], { generation: 1, nowMs: first })
  expect(mergeConditions(before, [accepted], { generation: 1, nowMs: later })).toEqual([before[0]])
})

test('a message never exceeds what the API server takes', () => {
  const [condition] = mergeConditions([], [{ ...pending, message: 'x'.repeat(40_000) }], {
    generation: 1,
    nowMs: first,
  })
  expect(condition?.message.length).toBe(32_768)
})

test.each([undefined, {}, { conditions: 'x' }, { conditions: [{ type: 'Ready' }, 7] }])(
  'a status that is %o has no conditions',
  (status) => {
    const object: ClusterObject = { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, status }
    expect(conditionsOf(object)).toEqual([])
  },
)

test('the conditions of an object are read back as they were written', () => {
  const conditions = mergeConditions([], [accepted, pending], { generation: 3, nowMs: first })
  const object: ClusterObject = {
    apiVersion: 'v1',
    kind: 'X',
    metadata: { name: 'x' },
    status: { conditions },
  }
  expect(conditionsOf(object)).toEqual(conditions)
})
