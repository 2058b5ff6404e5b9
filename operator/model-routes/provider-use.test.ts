import { expect, test } from 'vitest'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { useOf } from './provider-use.ts'

function provider(conditions: readonly object[] = []): ClusterObject {
  return { apiVersion: 'v', kind: 'ModelProvider', metadata: { name: 'p' }, status: { conditions } }
}

const refused = {
  type: 'ResolvedRefs',
  status: 'False',
  reason: 'SecretNotFound',
  message: 'Secret "s" does not exist',
  observedGeneration: 1,
  lastTransitionTime: '2026-11-21T00:00:00Z',
}

test.each([
  ['stored for its object', provider(), { clusterId: 'c', revision: 9n }, { is: 'usable', revision: 9n }],
  [
    'stored, though wrong since',
    provider([refused]),
    { clusterId: 'c', revision: 9n },
    { is: 'usable', revision: 9n },
  ],
  ['of the cabinet', undefined, null, { is: 'usable', revision: 0n }],
  ['nowhere', undefined, undefined, { is: 'unusable', problem: 'ModelProvider "p" does not exist' }],
  [
    'still stored, its object gone',
    undefined,
    { clusterId: 'c', revision: 9n },
    { is: 'unusable', problem: 'ModelProvider "p" does not exist' },
  ],
  [
    'refused',
    provider([refused]),
    undefined,
    { is: 'unusable', problem: 'ModelProvider "p": Secret "s" does not exist' },
  ],
  ['new', provider(), undefined, { is: 'awaited', problem: 'ModelProvider "p" has not been checked yet' }],
  [
    'of another cluster, under the same name',
    provider(),
    { clusterId: 'other', revision: 9n },
    { is: 'awaited', problem: 'ModelProvider "p" has not been checked yet' },
  ],
] as const)('a provider %s', (_, object, owner, use) => {
  expect(useOf('p', object, owner, 'c')).toEqual(use)
})
