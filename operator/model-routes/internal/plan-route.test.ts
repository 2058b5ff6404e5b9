import { describe, expect, test } from 'vitest'
import { fineFallbacks } from '#core/catalog/fallback-graph'
import type { RouteDraft } from '#core/catalog/route-resource'
import type { ClusterResource } from '#core/clusters/cluster-resources'
import { nanoRub } from '#core/ledger/money'
import type { GatheredRoute } from './gathered-route.ts'
import { aDraftedRoute, aBackend as backend } from './made-up-draft.fixture.ts'
import { planRoute, verdictsOf } from './plan-route.ts'

const draft: RouteDraft = {
  route: aDraftedRoute,
  price: {
    input: nanoRub(1n),
    cachedInput: null,
    cacheWrite: null,
    output: nanoRub(1n),
    reasoning: null,
    perRequest: nanoRub(0n),
  },
  organizations: null,
}

const usable = { is: 'usable', revision: 5n } as const
const missing = { is: 'unusable', problem: 'ModelProvider "q" does not exist' } as const
const forbidden = { is: 'forbidden', problem: 'ModelProvider "x/q" does not exist, or …' } as const
const awaited = { is: 'awaited', problem: 'ModelProvider "q" has not been checked yet' } as const

const fine: GatheredRoute = {
  namespace: 'mg',
  draft,
  isAllowed: true,
  mayOffer: true,
  isStoredForbidden: false,
  older: undefined,
  holder: 'us',
  clusterId: 'c1',
  organizationIds: new Map(),
  providers: new Map([
    ['p', usable],
    ['q', usable],
  ]),
  fallbacks: fineFallbacks,
  revision: 7n,
  replicas: [{ id: 'a', revision: 7n, unhealthy: {}, answering: [] }],
}

const sibling: ClusterResource = {
  clusterId: 'c1',
  kind: 'ModelRoute',
  namespace: 'x',
  name: 'r',
  uid: 'u',
  generation: 1,
  subject: 'a/b',
  revision: 7n,
  rotationTrigger: null,
  rotatedAt: null,
}

function said(change: Partial<GatheredRoute>): string {
  const gathered = { ...fine, ...change }
  const { Accepted, ResolvedRefs, BackendsHealthy, Programmed, Ready } = verdictsOf(gathered).verdicts
  const reasons = [Accepted, ResolvedRefs, BackendsHealthy, Programmed, Ready].map(({ reason }) => reason)
  return [planRoute(gathered).row.is, ...reasons].join(' ')
}

const served = 'Accepted ResolvedRefs BackendsHealthy Programmed Programmed'
const conflict = 'Conflict Pending Pending Pending Conflict'

describe('a ModelRoute', () => {
  const cases: readonly [string, Partial<GatheredRoute>, string][] = [
    ['with all it needs is stored and serves', {}, `put ${served}`],
    ['whose model another of this cluster had takes it over', { holder: sibling }, `put ${served}`],
    [
      'of a namespace that does not count is taken out',
      { isAllowed: false },
      'removed NamespaceNotAllowed Pending Pending Pending NamespaceNotAllowed',
    ],
    [
      'whose namespace may not offer its model is taken out',
      { mayOffer: false },
      'removed ModelNotAllowed Pending Pending Pending ModelNotAllowed',
    ],
    [
      'that may not use one of its providers serves with the other',
      { providers: new Map([...fine.providers, ['q', forbidden]]) },
      'put Accepted ProviderNotAllowed BackendsHealthy Programmed ProviderNotAllowed',
    ],
    [
      'that may use none of its providers is taken out',
      {
        providers: new Map([
          ['p', forbidden],
          ['q', forbidden],
        ] as const),
      },
      'removed Accepted ProviderNotAllowed NoBackendHealthy Programmed ProviderNotAllowed',
    ],
    [
      'that is refused for a mistake is taken out, too, if what it had stored is not allowed any more',
      { draft: { ...draft, organizations: ['acme'] }, isStoredForbidden: true },
      'removed OrganizationNotFound Pending Pending Pending OrganizationNotFound',
    ],
    [
      'that cannot be read leaves what was stored before',
      { draft: { fault: 'spec.model: …' } },
      'kept InvalidSpec Pending Pending Pending InvalidSpec',
    ],
    [
      'that is younger serves on until the older one does',
      { older: { namespace: 'mg', name: 'older' } },
      `kept ${conflict}`,
    ],
    ['for a model of the cabinet is refused', { holder: 'cabinet' }, `kept ${conflict}`],
    [
      'for a model of another cluster is refused',
      { holder: { ...sibling, clusterId: 'c2' } },
      `kept ${conflict}`,
    ],
    [
      'for an organization that does not exist is refused',
      { draft: { ...draft, organizations: ['acme'] } },
      'kept OrganizationNotFound Pending Pending Pending OrganizationNotFound',
    ],
    [
      'one of whose providers is missing serves with the other',
      { providers: new Map([...fine.providers, ['q', missing]]) },
      'put Accepted ProviderNotFound BackendsHealthy Programmed ProviderNotFound',
    ],
    [
      'none of whose providers is there stays in the catalog: an outage, not an unknown model',
      {
        providers: new Map([
          ['p', missing],
          ['q', missing],
        ] as const),
      },
      'put Accepted ProviderNotFound NoBackendHealthy Programmed ProviderNotFound',
    ],
    [
      'none of whose providers was ever there is not offered',
      {
        providers: new Map([
          ['p', missing],
          ['q', missing],
        ] as const),
        holder: 'nobody',
        revision: null,
      },
      'kept Accepted ProviderNotFound NoBackendHealthy Pending ProviderNotFound',
    ],
    [
      'whose provider nobody has looked at yet is not Ready',
      { providers: new Map([...fine.providers, ['q', awaited]]) },
      'put Accepted Pending BackendsHealthy Programmed Pending',
    ],
    [
      'that a gateway does not serve yet is not Ready',
      { revision: 8n },
      'put Accepted ResolvedRefs BackendsHealthy GatewaysPending GatewaysPending',
    ],
    [
      'whose provider a gateway does not know yet is not Ready',
      { providers: new Map([...fine.providers, ['q', { is: 'usable', revision: 8n }]]) },
      'put Accepted ResolvedRefs BackendsHealthy GatewaysPending GatewaysPending',
    ],
    [
      'that no gateway serves is not Ready',
      { replicas: [] },
      'put Accepted ResolvedRefs NoGateways NoGateways NoGateways',
    ],
    [
      'one of whose backends fails is Ready',
      { replicas: [{ id: 'a', revision: 7n, unhealthy: { 'q m': 'timeout' }, answering: [] }] },
      `put ${served}`,
    ],
    [
      'whose backends all fail is not',
      {
        replicas: [
          { id: 'a', revision: 7n, unhealthy: { p: 'unauthorized', q: 'unreachable' }, answering: [] },
        ],
      },
      'put Accepted ResolvedRefs NoBackendHealthy Programmed NoBackendHealthy',
    ],
  ]
  test.each(cases)('%s', (_, change, expected) => {
    expect(said(change)).toBe(expected)
  })
})

test('a backend with weight 0 is never tried, so it neither counts nor serves', () => {
  const backends = [backend, { ...backend, name: 'drained', provider: 'q', weight: 0 }]
  const drained = { ...draft, route: { ...draft.route, backends } }
  const sick = { id: 'a', revision: 7n, unhealthy: { p: 'unreachable' }, answering: [] } as const
  const { verdicts, backends: listed } = verdictsOf({ ...fine, draft: drained, replicas: [sick] })
  expect(verdicts.BackendsHealthy).toMatchObject({ status: 'False', message: '0 of 1 backends are healthy' })
  expect(listed.map(({ name }) => name)).toEqual(['main'])
  const providers = new Map([...fine.providers, ['p', missing] as const])
  expect(planRoute({ ...fine, draft: drained, providers, holder: 'nobody' }).row.is).toBe('kept')
})

test('fallbacks without a backend, of another purpose or in a cycle are named, and cause no rejection', () => {
  const { verdicts } = verdictsOf({
    ...fine,
    fallbacks: { missing: ['a/c'], otherType: ['a/vector'], circle: ['a/b', 'a/c', 'a/b'] },
  })
  expect(verdicts.ResolvedRefs).toEqual({
    status: 'True',
    reason: 'ResolvedRefs',
    message: [
      'Fallbacks that no route serves: a/c',
      'Fallbacks of another type than this route, which are never tried: a/vector',
      'Fallbacks form a loop, which is harmless: a/b → a/c → a/b',
    ].join('. '),
  })
})

test('a provider that does not allow the route is not stored with it', () => {
  const { row } = planRoute({ ...fine, providers: new Map([...fine.providers, ['q', forbidden]]) })
  expect(row).toMatchObject({ draft: { route: { backends: [backend] } } })
})

test('organizations are stored by id', () => {
  const { row } = planRoute({
    ...fine,
    draft: { ...draft, organizations: ['acme', 'umbrella'] },
    organizationIds: new Map([
      ['umbrella', 'id of umbrella'],
      ['acme', 'id of acme'],
    ]),
  })
  expect(row).toMatchObject({ organizationIds: ['id of acme', 'id of umbrella'] })
})

test('a failing backend shows why, and how many gateways report it', () => {
  const { backends } = verdictsOf({
    ...fine,
    replicas: [
      { id: 'a', revision: 7n, unhealthy: { 'p m': 'timeout', 'q other': 'slow' }, answering: [] },
      { id: 'b', revision: 7n, unhealthy: {}, answering: [] },
    ],
  })
  expect(backends).toEqual([
    { name: 'main', healthy: false, message: '1 of 2 gateways report: timeout' },
    { name: 'spare', healthy: true, message: '' },
  ])
})
