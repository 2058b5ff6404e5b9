import { describe, expect, test } from 'vitest'
import type { CabinetRoute } from '#core/catalog/cabinet-routes'
import { aDraftedRoute } from '../../model-routes/internal/made-up-draft.fixture.ts'
import type { MirrorStates } from './mirror-state.ts'
import { type CabinetRoutes, routeMirrors } from './route-mirrors.ts'

const made: CabinetRoute = {
  route: { ...aDraftedRoute, organizations: null },
  price: 'free',
  organizations: null,
}
const gateway = { id: 'a', revision: 7n, unhealthy: {}, answering: [] }
const fine: CabinetRoutes = {
  cappedCount: 0,
  routes: [made],
  providers: new Set(['p', 'q']),
  graph: new Map([['a/c', { type: 'chat', fallbacks: [] }]]),
  revision: 7n,
  replicas: [gateway],
}

function mirrorOf(change: Partial<CabinetRoutes>, before: MirrorStates = new Map()) {
  const { mirrors } = routeMirrors({ ...fine, ...change }, before)
  const [mirror] = mirrors.values()
  const reasons = Object.entries(mirror?.verdicts ?? {}).map(([type, { reason }]) => `${type}=${reason}`)
  return { mirrors, mirror, said: reasons.join(' ') }
}

function reasons(refs: string, health: string, programmed: string, ready: string): string {
  return `Accepted=Accepted ResolvedRefs=${refs} BackendsHealthy=${health} Programmed=${programmed} Ready=${ready}`
}

describe('the mirror of a route', () => {
  const cases: readonly [string, Partial<CabinetRoutes>, string][] = [
    ['that serves is Ready', {}, reasons('ResolvedRefs', 'BackendsHealthy', 'Programmed', 'Programmed')],
    [
      'with a provider that is not there is not',
      { providers: new Set(['p']) },
      reasons('ProviderNotFound', 'BackendsHealthy', 'Programmed', 'ProviderNotFound'),
    ],
    [
      'whose providers all fail is not',
      { replicas: [{ ...gateway, unhealthy: { p: 'unauthorized', q: 'unreachable' }, answering: [] }] },
      reasons('ResolvedRefs', 'NoBackendHealthy', 'Programmed', 'NoBackendHealthy'),
    ],
    [
      'that a gateway does not serve yet is not',
      { revision: 8n },
      reasons('ResolvedRefs', 'BackendsHealthy', 'GatewaysPending', 'GatewaysPending'),
    ],
    [
      'that nobody serves is not',
      { replicas: [] },
      reasons('ResolvedRefs', 'NoGateways', 'NoGateways', 'NoGateways'),
    ],
  ]
  test.each(cases)('%s', (_, change, expected) => {
    expect(mirrorOf(change).said).toBe(expected)
  })
})

test('the mirror of a route shows how many of its backends work, and the gateways’ objections to the others', () => {
  const { mirror } = mirrorOf({ replicas: [{ ...gateway, unhealthy: { 'q m': 'timeout' }, answering: [] }] })
  expect(mirror?.status).toEqual({
    revision: 7,
    backendsReady: '1/2',
    backends: [
      { name: 'main', healthy: true, message: '' },
      { name: 'spare', healthy: false, message: '1 of 1 gateways report: timeout' },
    ],
  })
})

test('a fallback that no gateway serves is named', () => {
  const { mirror } = mirrorOf({ graph: new Map() })
  expect(mirror?.verdicts.ResolvedRefs?.message).toBe('Fallbacks that no route serves: a/c')
})

test('a route waits for the revision that changed it or brought its provider, not for that of others', () => {
  const { mirrors } = mirrorOf({ providers: new Set(['p']) })
  const later = mirrorOf({ providers: new Set(['p']), revision: 8n }, mirrors)
  expect(later.mirror?.status).toMatchObject({ revision: 7 })
  const resolved = mirrorOf({ revision: 9n }, later.mirrors)
  expect(resolved.mirror?.verdicts.Programmed).toMatchObject({ reason: 'GatewaysPending' })
  const changed = { ...made, route: { ...made.route, description: 'new' } }
  expect(mirrorOf({ routes: [changed], revision: 10n }, resolved.mirrors).mirror?.status).toMatchObject({
    revision: 10,
  })
})

test('routes above the cap are counted', () => {
  expect(routeMirrors({ ...fine, cappedCount: 3 }, new Map()).cappedCount).toBe(3)
})
