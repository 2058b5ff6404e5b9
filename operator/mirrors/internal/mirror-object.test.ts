import { describe, expect, test } from 'vitest'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { managedByLabel } from '../../status/managed-by.ts'
import { mirrorNameOf, mirrorObject, planMirror } from './mirror-object.ts'

const wanted = { name: 'k', spec: { organization: 'acme', limits: { requestsPerMinute: 5 } } }

function objectOf(
  change: { readonly spec?: object; readonly labels?: Readonly<Record<string, string>> } = {},
) {
  const { metadata, spec } = mirrorObject('mg', wanted)
  const object: ClusterObject = {
    apiVersion: 'v',
    kind: 'ApiKey',
    metadata: { ...metadata, labels: change.labels ?? metadata.labels },
    spec: change.spec ?? spec,
  }
  return object
}

describe('the cluster shows what the cabinet has', () => {
  const made: ClusterObject = { apiVersion: 'v', kind: 'ApiKey', metadata: { name: 'k' }, spec: wanted.spec }
  const cases: readonly [string, ReturnType<typeof planMirror>, string][] = [
    ['what is not there yet is applied', planMirror(undefined, wanted), 'apply'],
    ['what is right is left alone', planMirror(objectOf(), wanted), 'nothing'],
    [
      'the order of fields is no difference',
      planMirror(objectOf({ spec: { limits: { requestsPerMinute: 5 }, organization: 'acme' } }), wanted),
      'nothing',
    ],
    [
      'a change in the cabinet is applied',
      planMirror(objectOf(), { name: 'k', spec: { organization: 'acme' } }),
      'apply',
    ],
    ['an edit is repaired', planMirror(objectOf({ spec: { organization: 'else' } }), wanted), 'repair'],
    [
      'an added field is repaired',
      planMirror(objectOf({ spec: { ...wanted.spec, suspend: true } }), wanted),
      'repair',
    ],
    ['a label that was taken off is repaired', planMirror(objectOf({ labels: {} }), wanted), 'repair'],
    ['what the cabinet does not have goes', planMirror(objectOf(), undefined), 'remove'],
    ['what people have made stays', planMirror(made, undefined), 'nothing'],
    ['a name that people have taken is theirs', planMirror(made, wanted), 'taken'],
    [
      'a forged label makes no mirror',
      planMirror({ ...made, metadata: { name: 'k', labels: { [managedByLabel]: 'cabinet' } } }, undefined),
      'remove',
    ],
  ]
  test.each(cases)('%s', (_, plan, expected) => {
    expect(plan).toBe(expected)
  })
})

test('the name of a route’s mirror is one that the API server takes, and differs for each model', () => {
  const models = ['openai/gpt-4o', 'openai/gpt_4o', 'OpenAI/GPT-4o', '…/…', `a/${'x'.repeat(250)}`]
  const names = models.map(mirrorNameOf)
  expect(new Set(names).size).toBe(models.length)
  for (const name of names) {
    expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
    expect(name.length).toBeLessThan(254)
  }
})
