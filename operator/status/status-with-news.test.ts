import { expect, test } from 'vitest'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { statusWithNews } from './status-with-news.ts'
import { no, yes } from './verdict.ts'

const types = ['Accepted', 'Ready']
const refused = no('DatabaseRefused', 'why')
const nowMs = Date.parse('2026-11-22T11:00:00Z')
const said = {
  observedGeneration: 1,
  keyPrefix: 'sk-gateway-x',
  conditions: [
    { type: 'Accepted', ...yes('Accepted') },
    { type: 'Ready', ...yes('Programmed') },
  ].map((condition) => ({
    ...condition,
    observedGeneration: 1,
    lastTransitionTime: '2026-11-21T10:00:00Z',
  })),
}

function objectThat(status: unknown): ClusterObject {
  return { apiVersion: 'v1', kind: 'X', metadata: { name: 'x', generation: 2 }, status }
}

test('without changes every condition stays to the byte, and no newer generation is observed', () => {
  expect(statusWithNews(objectThat(said), types, {}, nowMs)).toEqual(said)
})

test('a change of one side leaves the others, and is of the current spec', () => {
  expect(statusWithNews(objectThat(said), types, { Ready: refused }, nowMs)).toEqual({
    ...said,
    conditions: [
      said.conditions[0],
      { type: 'Ready', ...refused, observedGeneration: 2, lastTransitionTime: '2026-11-22T11:00:00Z' },
    ],
  })
})

test('only a condition of the spec marks the spec as seen', () => {
  const judged = statusWithNews(objectThat(said), types, { Accepted: refused }, nowMs)
  expect(judged).toMatchObject({ observedGeneration: 2, keyPrefix: said.keyPrefix })
})

test.each([undefined, null, 'nonsense', {}])(
  'of an object whose status is %o nothing is known yet',
  (status) => {
    expect(statusWithNews(objectThat(status), types, {}, nowMs)).toMatchObject({
      observedGeneration: 2,
      conditions: types.map((type) => ({
        type,
        status: 'Unknown',
        reason: 'Pending',
        observedGeneration: 2,
      })),
    })
  },
)
