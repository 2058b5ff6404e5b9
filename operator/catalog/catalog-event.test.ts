import { expect, test } from 'vitest'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { no, type Verdict, yes } from '../status/verdict.ts'
import { catalogEvent } from './catalog-event.ts'

/** Of an object with this condition about its references. */
function reasons(kind: string, before: Verdict | undefined, now: Verdict): readonly string[] {
  const condition = { type: 'ResolvedRefs', ...before, observedGeneration: 1, lastTransitionTime: '' }
  const conditions = before === undefined ? [] : [condition]
  const object: ClusterObject = { apiVersion: 'v', kind, metadata: { name: 'x' }, status: { conditions } }
  return catalogEvent(object, { ResolvedRefs: now }, 'none').map(({ reason }) => reason)
}

test.each(['SecretNotFound', 'SecretNotLabelled', 'KeyNotFound'])(
  'that the Secret of a provider is not as it should be is an event, once: %s',
  (reason) => {
    const refused = no(reason, 'why')
    expect(reasons('ModelProvider', undefined, refused)).toEqual([reason])
    expect(reasons('ModelProvider', yes('ResolvedRefs'), refused)).toEqual([reason])
    expect(reasons('ModelProvider', no('Other', ''), refused)).toEqual([reason])
    expect(reasons('ModelProvider', refused, refused)).toEqual([])
    expect(reasons('ModelProvider', refused, yes('ResolvedRefs'))).toEqual([])
  },
)

test('that a provider is missing is no event of its routes: there may be thousands', () => {
  expect(reasons('ModelRoute', yes('ResolvedRefs'), no('ProviderNotFound', 'why'))).toEqual([])
})
