import { describe, expect, test } from 'vitest'
import type { KeyDraft } from '#core/keys/key-resource'
import { findRub, nanoRub } from '#core/ledger/money'
import { organizationLabel } from '#crds/resource'
import { type ClusterObject, keyOf } from '../runtime/cluster-object.ts'
import { boundKey } from './bound-key.ts'
import { createTenants } from './tenants.ts'

const apiVersion = 'modelgateway.dev/v1alpha1'
const namespace = 'team-a'

function createSpace(keysMay?: string): ClusterObject {
  const annotations = keysMay === undefined ? {} : { 'modelgateway.dev/keys-may': keysMay }
  const labels = { [organizationLabel]: 'acme' }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels, annotations } }
}

function createKey(name: string, second: number, dailyBudgetRub?: string): ClusterObject {
  const creationTimestamp = `2026-11-26T00:00:${String(second).padStart(2, '0')}Z`
  const limits = dailyBudgetRub === undefined ? {} : { dailyBudgetRub }
  const spec = { organization: 'acme', limits }
  return { apiVersion, kind: 'ApiKey', metadata: { namespace, name, creationTimestamp }, spec }
}

/** Tenants with these quotas in the namespace, and what an ApiKey gets of a draft there. */
function createBounds({ quotas = [], keysMay }: { quotas?: readonly object[]; keysMay?: string } = {}) {
  const list = quotas.map((spec, index) => ({
    apiVersion,
    kind: 'ApiKeyQuota',
    metadata: { namespace, name: `quota-${index}` },
    spec,
  }))
  const tenants = createTenants({ list: () => list })
  tenants.quotaChanged(`${namespace}/any`)
  const space = createSpace(keysMay)
  return {
    tenants,
    boundsOf: (key: ClusterObject) => tenants.boundsOf(key, space),
    bound: (fields: Partial<KeyDraft>, template: Partial<Template> = {}) =>
      boundKey(
        { ...draft, ...fields },
        { labels: {}, annotations: {}, ...template },
        tenants.boundsOf(createKey('ci', 0), space),
      ),
  }
}

type Template = Parameters<typeof boundKey>[1]

const draft: KeyDraft = {
  name: 'ci',
  organization: 'acme',
  limits: {},
  tags: [],
  suspended: false,
  rotationTrigger: null,
  rotationIntervalS: null,
  rotationGraceS: 86_400,
  adoption: 'Allow',
  deletionPolicy: 'Revoke',
}
const rub = (text: string) => findRub(text) ?? nanoRub(-1n)

describe('an ApiKey gets what it asks for, at most what its namespace allows', () => {
  const strict = {
    apiKeys: 200,
    perKey: { requestsPerMinute: 60, tokensPerMinute: 1000, dailyBudgetRub: '10.5' },
    allowedModels: ['a/one', 'b/*'],
    rotation: { minInterval: '24h', maxGracePeriod: '1h' },
  }
  test('without a quota: everything but permissions', () => {
    const { bound } = createBounds()
    const asked = { limits: { rpm: 2_147_483_647, readBalance: true }, deletionPolicy: 'Orphan' } as const
    expect(bound(asked)).toMatchObject({
      draft: { limits: { rpm: 2_147_483_647, readBalance: false }, deletionPolicy: 'Revoke' },
      excesses: ['readBalance: false', 'deletionPolicy: Revoke'],
      overQuota: undefined,
    })
  })

  test('a limit that it leaves out is that of the quota, and no excess', () => {
    const { draft: given, excesses } = createBounds({ quotas: [strict] }).bound({})
    expect(given.limits).toMatchObject({
      rpm: 60,
      tpm: 1000,
      dailyBudgetNano: rub('10.5'),
      allowedModels: ['a/one', 'b/*'],
    })
    expect(excesses).toEqual([])
  })

  test('a lower limit stays', () => {
    const limits = { rpm: 5, tpm: 6, dailyBudgetNano: rub('7'), allowedModels: ['b/x'] }
    const { draft: given, excesses } = createBounds({ quotas: [strict] }).bound({ limits })
    expect(given.limits).toMatchObject(limits)
    expect(excesses).toEqual([])
  })

  test('a higher one is lowered, with what applies', () => {
    const asked = {
      limits: { rpm: 61, tpm: 1001, dailyBudgetNano: rub('10.500000001'), allowedModels: ['a/*', 'c/x'] },
      rotationIntervalS: 3600,
      rotationGraceS: 3601,
    }
    const { draft: given, excesses } = createBounds({ quotas: [strict] }).bound(asked)
    expect(given).toMatchObject({ rotationIntervalS: 86_400, rotationGraceS: 3600 })
    expect(given.limits).toMatchObject({ rpm: 60, tpm: 1000, allowedModels: ['a/one'] })
    expect(excesses).toEqual([
      'limits.requestsPerMinute: 60',
      'limits.tokensPerMinute: 1000',
      'limits.dailyBudgetRub: "10.5"',
      'allowedModels: ["a/one"]',
      'rotation.interval: 86400s',
      'rotation.gracePeriod: 3600s',
    ])
  })

  test('of several quotas all apply', () => {
    const other = {
      perKey: { requestsPerMinute: 50 },
      allowedModels: ['a/*'],
      rotation: { minInterval: '1h' },
    }
    const { bound } = createBounds({ quotas: [strict, other] })
    expect(bound({ rotationIntervalS: 3600 }).draft).toMatchObject({
      limits: { rpm: 50, tpm: 1000, allowedModels: ['a/one'] },
      rotationIntervalS: 86_400,
    })
  })

  test.each([
    [
      'no model that it names is allowed',
      { limits: { allowedModels: ['c/x'] } },
      strict,
      'none of spec.allowedModels',
    ],
    ['it needs a budget and has none', {}, { totalDailyBudgetRub: '5' }, 'dailyBudgetRub must be set'],
    ['a quota cannot be read', {}, { apiKeys: 'many' }, 'cannot be read'],
    ['the quota allows no ApiKey', {}, { apiKeys: 0 }, 'has 1 ApiKeys and may have 0'],
  ])('it has no key if %s', (_, fields, quota, message) => {
    expect(createBounds({ quotas: [quota] }).bound(fields).overQuota).toContain(message)
  })

  test('its budget may be that of the quota where the total is limited', () => {
    const quotas = [{ totalDailyBudgetRub: '5', perKey: { dailyBudgetRub: '2' } }]
    const { draft: given, overQuota } = createBounds({ quotas }).bound({})
    expect(overQuota).toBeUndefined()
    expect(given.limits.dailyBudgetNano).toBe(rub('2'))
  })
})

describe('permissions of a namespace', () => {
  const asked = { limits: { readBalance: true }, deletionPolicy: 'Orphan' } as const
  test.each([
    [undefined, false, 'Revoke'],
    ['', false, 'Revoke'],
    ['readBalance', true, 'Revoke'],
    ['orphan', false, 'Orphan'],
    [' orphan , readBalance', true, 'Orphan'],
    ['*', false, 'Revoke'],
    ['readbalance, Orphan', false, 'Revoke'],
  ])('%j', (keysMay, readBalance, deletionPolicy) => {
    const { bound } = createBounds(keysMay === undefined ? {} : { keysMay })
    expect(bound(asked).draft).toMatchObject({ limits: { readBalance }, deletionPolicy })
  })

  test('labels and annotations of other controllers are left out, unless their prefix is permitted', () => {
    const template = {
      labels: { team: 'a', 'app.kubernetes.io/part-of': 'shop', 'app.kubernetes.io/instance': 'argo' },
      annotations: {
        'meta.helm.sh/release-name': 'x',
        'reflector.v1.k8s.emberstack.com/reflection-allowed': 'true',
        'example.com/note': 'y',
        'nothelm.sh/note': 'z',
      },
    }
    const keysMay = 'secretTemplate:reflector.v1.k8s.emberstack.com'
    expect(createBounds({ keysMay }).bound({}, template)).toMatchObject({
      template: {
        labels: { team: 'a', 'app.kubernetes.io/part-of': 'shop' },
        annotations: {
          'reflector.v1.k8s.emberstack.com/reflection-allowed': 'true',
          'example.com/note': 'y',
          'nothelm.sh/note': 'z',
        },
      },
      excesses: ['secret.template without app.kubernetes.io/instance, meta.helm.sh/release-name'],
    })
  })
})

describe('the older ApiKeys come first', () => {
  const standings = (quotas: readonly object[], keys: readonly ClusterObject[]) => {
    const { tenants, boundsOf } = createBounds({ quotas })
    const changed = keys.map((key) => tenants.keyChanged(keyOf(key.metadata), key))
    return { tenants, changed, of: (key: ClusterObject) => boundsOf(key).standing }
  }

  test('whatever the order in which they are reported', () => {
    const [one, two, three] = [createKey('z', 1), createKey('b', 2), createKey('c', 2)]
    const { of } = standings([{ apiKeys: 2 }], [three, one, two])
    expect([one, two, three].map((key) => of(key).before)).toEqual([0, 1, 2])
  })

  test('one more changes nothing for those before it, and one less admits the next', () => {
    const [one, two, three] = [createKey('a', 1), createKey('b', 2), createKey('c', 3)]
    const { tenants, changed } = standings([{ apiKeys: 2 }], [one, two, three])
    expect(changed).toEqual([[], ['team-a/b'], ['team-a/c']])
    expect(tenants.keyChanged('team-a/c', { ...three, status: { any: 1 } })).toEqual([])
    expect(tenants.keyChanged('team-a/a', undefined)).toEqual(['team-a/c'])
    expect(tenants.keyChanged('team-a/c', undefined)).toEqual([])
  })

  test('each gets its budget, or what is left of the total', () => {
    const keys = [createKey('a', 1, '60'), createKey('b', 2, '60'), createKey('c', 3, '1')]
    const { tenants, of } = standings([{ totalDailyBudgetRub: '100' }], keys)
    expect(keys.map((key) => of(key).budgetLeftNano)).toEqual([rub('100'), rub('40'), rub('0')])
    expect(tenants.keyChanged('team-a/a', createKey('a', 1, '30'))).toEqual([
      'team-a/a',
      'team-a/b',
      'team-a/c',
    ])
    expect(keys.map((key) => of(key).budgetLeftNano)).toEqual([rub('100'), rub('70'), rub('10')])
  })

  test('mirrors of the cabinet do not count', () => {
    const mirror = createKey('a', 1)
    const labels = { 'modelgateway.dev/managed-by': 'cabinet' }
    const { of } = standings([], [{ ...mirror, metadata: { ...mirror.metadata, labels } }])
    expect(of(createKey('b', 2))).toMatchObject({ before: 0, count: 1 })
  })
})
