import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ApiKey, apiKeySchema } from '#crds/api-key'
import { apiVersion } from '#crds/resource'
import { isStorable } from '#crds/storable'
import { nanoRub } from '../ledger/money.ts'
import { draftKey, mirrorKey } from './key-resource.ts'
import type { KeyState } from './key-state.ts'

const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null })
const count = fc.integer({ min: 1, max: 2_147_483_647 })

const budget = (leastNano: bigint) => orNull(fc.bigInt(leastNano, 999_999_999_999_999_999n).map(nanoRub))

const keyState: fc.Arbitrary<KeyState> = fc.record({
  keyId: fc.uuid(),
  organizationId: fc.uuid(),
  organization: fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/),
  name: fc.string({ minLength: 1, maxLength: 253, unit: 'binary' }).filter(isStorable), // a row has no other
  tags: fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,31}$/), { maxLength: 10 }),
  managedBy: fc.constant('cabinet' as const),
  purpose: fc.constant('general' as const),
  limits: fc.record({
    rpm: orNull(count),
    tpm: orNull(count),
    dailyBudgetNano: budget(0n),
    weeklyBudgetNano: budget(1n),
    monthlyBudgetNano: budget(1n),
    totalBudgetNano: budget(1n),
    allowedModels: orNull(fc.uniqueArray(fc.constantFrom('a/b', 'a/*', 'openai/gpt-4o'))),
    allowedIps: orNull(
      fc.uniqueArray(fc.constantFrom('10.0.0.0/8', '::1', '2001:db8::/32'), { minLength: 1 }),
    ),
    expiresAt: orNull(
      fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
    ),
    readBalance: fc.boolean(),
    keepsResponsesHours: fc.option(fc.integer({ min: 1, max: 720 })),
  }),
  blockedBy: fc.subarray(['owner', 'admin', 'kubernetes'] as const),
  revoked: fc.constant(false),
  revokedAt: fc.constant(null),
  createdAt: fc.constant(new Date(0)),
  version: fc.constant(1n),
  isProjected: fc.boolean(),
  everProjected: fc.constant(true),
  secrets: fc.constant([]),
})

function resourceOf(keyId: string, spec: ApiKey['spec'] | undefined): unknown {
  // The response of the API server: plain JSON.
  return JSON.parse(JSON.stringify({ apiVersion, kind: 'ApiKey', metadata: { name: keyId }, spec }))
}

test('an ApiKey’s addresses have their one form in the database, so that another way to write them is no change', () => {
  const spec = apiKeySchema.shape.spec.parse({
    organization: 'acme',
    allowedIPs: ['::FFFF:1.2.3.4', '1.2.3.4/32', '2001:DB8::/32'],
  })
  expect(draftKey({ metadata: { name: 'ci' }, spec }).limits.allowedIps).toEqual(['1.2.3.4', '2001:db8::/32'])
})

test('a mirrored key is an ApiKey that means the same limits for the same organization', () => {
  fc.assert(
    fc.property(keyState, (state) => {
      expect(draftKey(apiKeySchema.parse(resourceOf(state.keyId, mirrorKey(state).data)))).toEqual({
        name: state.keyId,
        organization: state.organization,
        limits: state.limits,
        tags: state.tags,
        suspended: state.blockedBy.length > 0,
        rotationTrigger: null,
        rotationIntervalS: null,
        rotationGraceS: 86_400,
        adoption: 'Allow',
        deletionPolicy: 'Revoke',
      })
    }),
  )
})

test('a key that an ApiKey cannot represent is not mirrored as another one', () => {
  const [state] = fc.sample(keyState, 1)
  if (state === undefined) throw new Error('no sample')
  const limits = { ...state.limits, dailyBudgetNano: nanoRub(10n ** 18n) }
  expect(mirrorKey({ ...state, limits }).success).toBe(false)
  const many = Array.from({ length: 257 }, () => `a/${randomUUID()}`)
  expect(mirrorKey({ ...state, limits: { ...state.limits, allowedModels: many } }).success).toBe(false)
})
