import { describe, expect, test } from 'vitest'
import type { ProviderDraft } from '#core/catalog/provider-resource'
import type { GatheredProvider } from './gathered-provider.ts'
import { planProvider } from './plan-provider.ts'

const draft: ProviderDraft = {
  document: { name: 'p', api: 'OpenAI', baseUrl: 'https://llm.example/v1', headers: [] },
  credential: {
    secretRef: { name: 's', key: 'k' },
    header: 'authorization',
    prefix: 'Bearer ',
  },
  caSecretRef: null,
}

const fine: GatheredProvider = {
  name: 'p',
  namespace: 'mg',
  draft,
  addressProblem: undefined,
  isAllowed: true,
  credential: { value: 'sk-1' },
  caCertificates: undefined,
  holder: 'nobody',
  stored: undefined,
  replicas: [{ id: 'a', revision: 1n, unhealthy: {}, answering: ['p'] }],
}

function planned(change: Partial<GatheredProvider>) {
  const { row, verdicts } = planProvider({ ...fine, ...change })
  const { Accepted, ResolvedRefs, Healthy, Ready } = verdicts
  return [row.is, Accepted.reason, ResolvedRefs.reason, Healthy.reason, Ready.reason].join(' ')
}

const resource = {
  clusterId: 'c2',
  kind: 'ModelProvider',
  namespace: 'x',
  name: 'p',
  uid: 'u',
  generation: 1,
  subject: 'p',
  revision: null,
  rotationTrigger: null,
  rotatedAt: null,
} as const
const missing = { reason: 'SecretNotFound', message: 'Secret "s" does not exist' } as const

describe('a ModelProvider', () => {
  const cases: readonly [string, Partial<GatheredProvider>, string][] = [
    ['with all it needs is stored', {}, 'put Accepted ResolvedRefs Healthy Ready'],
    [
      'of a namespace that does not count is taken out',
      { isAllowed: false, holder: 'us' },
      'removed NamespaceNotAllowed Pending Healthy NamespaceNotAllowed',
    ],
    [
      'that cannot be read keeps what was stored before',
      { draft: { fault: 'spec.api: Gemini is not supported yet' }, holder: 'us' },
      'kept InvalidSpec Pending Healthy InvalidSpec',
    ],
    [
      'at an address where none may be is refused',
      { addressProblem: 'spec.baseURL: no' },
      'kept AddressNotAllowed Pending Pending AddressNotAllowed',
    ],
    ['of a name of the cabinet is refused', { holder: 'cabinet' }, 'kept Conflict Pending Pending Conflict'],
    ['of a name of another is refused', { holder: resource }, 'kept Conflict Pending Pending Conflict'],
    [
      'without its Secret says so',
      { credential: missing },
      'kept Accepted SecretNotFound Pending SecretNotFound',
    ],
    [
      'that loses its Secret goes on with what it had',
      { credential: missing, holder: 'us' },
      'kept Accepted SecretNotFound Healthy SecretNotFound',
    ],
    [
      'whose authorities are none says so',
      { caCertificates: { value: 'hello' } },
      'kept Accepted KeyNotFound Pending KeyNotFound',
    ],
    [
      'whose credential no header can carry says so',
      { credential: { value: 'a\nb' } },
      'kept Accepted KeyNotFound Pending KeyNotFound',
    ],
    [
      'that a gateway cannot reach is not healthy',
      { replicas: [{ id: 'a', revision: 1n, unhealthy: { p: 'unreachable' }, answering: ['p'] }] },
      'put Accepted ResolvedRefs CallsFail CallsFail',
    ],
    [
      'whose credential is refused says so',
      { replicas: [{ id: 'a', revision: 1n, unhealthy: { p: 'unauthorized' }, answering: ['p'] }] },
      'put Accepted ResolvedRefs CredentialRefused CredentialRefused',
    ],
    [
      'that no gateway could try is unknown',
      { replicas: [] },
      'put Accepted ResolvedRefs NoGateways NoGateways',
    ],
    [
      'that nobody has called yet may be used, and is not called healthy',
      { replicas: [{ id: 'a', revision: 1n, unhealthy: {}, answering: ['q'] }] },
      'put Accepted ResolvedRefs NotTried Ready',
    ],
    [
      'that answers one of two gateways is healthy',
      {
        replicas: [
          { id: 'a', revision: 1n, unhealthy: {}, answering: [] },
          { id: 'b', revision: 1n, unhealthy: {}, answering: ['p'] },
        ],
      },
      'put Accepted ResolvedRefs Healthy Ready',
    ],
  ]
  test.each(cases)('%s', (_, change, expected) => {
    expect(planned(change)).toBe(expected)
  })
})
