import fc from 'fast-check'
import { expect, test } from 'vitest'
import { modelRouteSchema } from '#crds/model-route'
import { apiVersion } from '#crds/resource'
import { nanoRub } from '../ledger/money.ts'
import type { CabinetRoute } from './cabinet-routes.ts'
import { draftRoute, mirrorRoute } from './route-resource.ts'

const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null })
const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/)
const model = fc.tuple(name, name).map(([provider, rest]) => `${provider}/${rest}`)
const nano = fc.bigInt(0n, 999_999_999_999_999n).map(nanoRub)
const tokens = fc.integer({ min: 1, max: 1_000_000_000 })
const timeoutMs = fc.integer({ min: 100, max: 3_600_000 })
const backend = fc.record({
  name,
  provider: name,
  model: fc.string({ minLength: 1, maxLength: 100 }),
  priority: fc.integer({ min: 0, max: 1000 }),
  weight: fc.integer({ min: 1, max: 1000 }),
})
/** jsonb does not support -0, and zod leaves `__proto__` out. */
const asStored = fc
  .jsonValue()
  .map((value) => JSON.stringify(value))
  .filter((text) => !text.includes('__proto__'))
  .map((text): unknown => JSON.parse(text))
/** Parameters that only requests may set are none that a route has rules about. */
const parameter = fc
  .stringMatching(/^[a-z]{1,20}$/)
  .filter((given) => !['n', 'model', 'messages', 'input', 'stream'].includes(given))

const cabinetRoute: fc.Arbitrary<CabinetRoute> = fc
  .record({
    route: fc.record({
      model,
      type: fc.constantFrom('chat', 'embedding'),
      displayName: fc.string({ maxLength: 120 }),
      description: fc.string(),
      inputModalities: fc.uniqueArray(fc.constantFrom('text', 'image', 'audio', 'file', 'video'), {
        minLength: 1,
      }),
      capabilities: fc.uniqueArray(fc.constantFrom('tools', 'structured_output', 'reasoning')),
      contextLength: orNull(tokens),
      maxOutputTokens: orNull(tokens),
      defaultOutputTokens: tokens,
      backends: fc.uniqueArray(backend, { minLength: 1, maxLength: 16, selector: (each) => each.name }),
      fallbacks: fc.array(model, { maxLength: 8 }),
      timeouts: fc
        .record({ requestMs: timeoutMs, firstByteMs: timeoutMs, streamIdleMs: timeoutMs })
        .filter(({ requestMs, firstByteMs }) => firstByteMs <= requestMs),
      attempts: fc.integer({ min: 1, max: 10 }),
      parameters: fc.record({
        drop: fc.array(parameter, { maxLength: 5 }),
        rename: fc.dictionary(parameter, parameter, { maxKeys: 5, noNullPrototype: true }),
        defaults: fc.dictionary(parameter, asStored, {
          maxKeys: 5,
          noNullPrototype: true,
        }),
      }),
      organizations: fc.constant(null),
    }),
    price: fc.oneof(
      fc.constant('free' as const),
      fc.record({
        input: nano,
        cachedInput: orNull(nano),
        cacheWrite: orNull(nano),
        output: nano,
        reasoning: orNull(nano),
        perRequest: nano,
      }),
    ),
    organizations: orNull(fc.uniqueArray(name, { minLength: 1, maxLength: 5 })),
  })
  .filter(({ route }) => !route.fallbacks.includes(route.model))

test('a mirrored route is a ModelRoute that means the same route, price and organizations', () => {
  fc.assert(
    fc.property(cabinetRoute, (made) => {
      const text = JSON.stringify({
        apiVersion,
        kind: 'ModelRoute',
        metadata: { name: 'mirror' },
        spec: mirrorRoute(made).data,
      })
      const { organizations: _, ...route } = made.route
      expect(draftRoute(modelRouteSchema.parse(JSON.parse(text)))).toEqual({
        route,
        price: made.price === 'free' ? null : made.price,
        organizations: made.organizations,
      })
    }),
  )
})

test('a route stored before kinds of input were named is mirrored as one that takes text', () => {
  const [made] = fc.sample(cabinetRoute, 1)
  if (made === undefined) throw new Error('no sample')
  const { inputModalities: _, ...older } = made.route
  expect(mirrorRoute({ ...made, route: older }).data).toMatchObject({ inputModalities: ['text'] })
})

test('the first byte is never waited for longer than the whole request, whichever of the two was left to its default', () => {
  const timesOf = (timeouts: object) => {
    const backends = [{ name: 'a', providerRef: { name: 'p' }, model: 'm' }]
    const spec = { model: 'a/b', free: true, backends, timeouts }
    const metadata = { name: 'x' }
    return draftRoute(modelRouteSchema.parse({ apiVersion, kind: 'ModelRoute', metadata, spec })).route
      .timeouts
  }
  expect(timesOf({ request: '30s' })).toMatchObject({ requestMs: 30_000, firstByteMs: 30_000 })
  expect(timesOf({ request: '2m' })).toMatchObject({ requestMs: 120_000, firstByteMs: 60_000 })
  expect(timesOf({ firstByte: '9m' })).toMatchObject({ requestMs: 600_000, firstByteMs: 540_000 })
})

test('a route that a ModelRoute cannot represent is not mirrored as another one', () => {
  const [made] = fc.sample(cabinetRoute, 1)
  if (made === undefined) throw new Error('no sample')
  const withTimeout = (requestMs: number) => ({
    ...made.route,
    timeouts: { ...made.route.timeouts, requestMs },
  })
  expect(mirrorRoute({ ...made, price: 'none' }).error?.issues).toMatchObject([
    { message: 'must have a price: set pricingRubPerMillionTokens, or set free to true' },
  ])
  expect(mirrorRoute({ ...made, route: withTimeout(99) }).success).toBe(false)
  expect(mirrorRoute({ ...made, organizations: [] }).success).toBe(false)
})
