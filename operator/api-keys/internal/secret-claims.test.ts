import { expect, test } from 'vitest'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { createSecretClaims } from './secret-claims.ts'

const apiKey = (
  name: string,
  { status, ...metadata }: Partial<ClusterObject['metadata']> & { status?: object } = {},
): ClusterObject => ({
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'ApiKey',
  metadata: { name, namespace: 'team-a', creationTimestamp: '2026-11-21T00:00:00Z', ...metadata },
  spec: { organization: 'acme', secret: { name: 'shared' } },
  ...(status === undefined ? {} : { status }),
})
const written = { secretRef: { name: 'shared', key: 'OPENAI_API_KEY' } }
const accepted = { type: 'Accepted', observedGeneration: 1, lastTransitionTime: '2026-11-21T00:00:00Z' }
const refused = { conditions: [{ ...accepted, status: 'False', reason: 'InvalidSpec', message: '' }] }

function claimsOf(...objects: ClusterObject[]) {
  const claims = createSecretClaims()
  for (const object of objects) claims.note(`team-a/${object.metadata.name}`, object)
  return claims
}

test('of two ApiKeys that name one Secret the older one has the better claim, or the one that has written it', () => {
  const older = apiKey('older')
  const younger = apiKey('a-younger', { creationTimestamp: '2026-11-21T00:00:01Z' })
  const claims = claimsOf(older, younger)
  expect([claims.rivalOf(older), claims.rivalOf(younger)]).toEqual([undefined, 'older'])
  const holder = { ...younger, status: written }
  claims.note('team-a/a-younger', holder)
  expect([claims.rivalOf(older), claims.rivalOf(holder)]).toEqual(['a-younger', undefined])
})

test('the same age is decided by name; another namespace or Secret is none of its business', () => {
  const elsewhere = apiKey('a', { namespace: 'team-b' })
  const other = { ...apiKey('a-other'), spec: { organization: 'acme' } }
  const [b, c] = [apiKey('b'), apiKey('c')]
  const claims = claimsOf(b, c, other)
  claims.note('team-b/a', elsewhere)
  expect([elsewhere, other, b, c].map(claims.rivalOf)).toEqual([undefined, undefined, undefined, 'b'])
})

test('that is deleted, rejected or a mirror claims nothing; the others are notified when a claim ends', () => {
  const claims = claimsOf(apiKey('a'), apiKey('b'), apiKey('c'))
  expect(claims.rivalOf(apiKey('c'))).toBe('a')
  expect(claims.note('team-a/a', apiKey('a'))).toEqual([])
  expect(claims.note('team-a/a', apiKey('a', { deletionTimestamp: '2026-11-21T00:01:00Z' }))).toEqual([
    'team-a/b',
    'team-a/c',
  ])
  expect(claims.note('team-a/b', apiKey('b', { status: refused }))).toEqual(['team-a/c'])
  expect(claims.rivalOf(apiKey('c'))).toBeUndefined()
  expect(claims.note('team-a/c', undefined)).toEqual([])
  const mirror = apiKey('a', { labels: { 'modelgateway.dev/managed-by': 'cabinet' } })
  expect(claimsOf(mirror).rivalOf(apiKey('b'))).toBeUndefined()
})
