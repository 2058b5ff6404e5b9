import { z } from 'zod'
import { apiVersion, condition, decimal, duration, metadata, modelName, resourceName } from './resource.ts'

/** Tokens: no model of today comes near. */
const tokensMax = 1_000_000_000
const parametersMax = 64
const parameterName = z.string().min(1).max(128)

const price = decimal(
  /^\d{1,12}(\.\d{1,3})?$/,
  'must be roubles in quotes with at most 3 decimals, such as "15.500"',
)

const backend = z.strictObject({
  name: resourceName,
  providerRef: z.strictObject({ name: resourceName }),
  /** The model's name at the provider. */
  model: z.string().min(1).max(512),
  /** Lower is tried first; weights share the traffic within one priority. */
  priority: z.int().min(0).max(1000).default(0),
  weight: z.int().min(0).max(1000).default(1),
})

const timeouts = z.strictObject({
  request: duration({ minMs: 100, maxMs: 3_600_000 }).default('10m'),
  firstByte: duration({ minMs: 100, maxMs: 3_600_000 }).default('60s'),
  streamIdle: duration({ minMs: 100, maxMs: 3_600_000 }).default('60s'),
})

/** Roubles per 1M tokens. A class without a price takes that of its family, never 0. */
const pricing = z.strictObject({
  input: price,
  cachedInput: price.optional(),
  cacheWrite: price.optional(),
  /** Of a chat; an embedding has none. */
  output: price.optional(),
  reasoning: price.optional(),
})

const spec = z
  .strictObject({
    /** What clients send; unique, never changed. */
    model: modelName,
    type: z.enum(['chat', 'embedding']).default('chat'),
    displayName: z.string().max(120).optional(),
    description: z.string().max(2000).default(''),
    contextLength: z.int().min(1).max(tokensMax).optional(),
    maxOutputTokens: z.int().min(1).max(tokensMax).optional(),
    /** Held when the request names no limit; never sent. */
    defaultOutputTokens: z.int().min(1).max(tokensMax).default(4096),
    backends: z.array(backend).min(1).max(16),
    /** Other routes' models, in order. */
    fallbacks: z.array(modelName).max(8).default([]),
    timeouts: timeouts.default({ request: '10m', firstByte: '60s', streamIdle: '60s' }),
    retry: z.strictObject({ attempts: z.int().min(1).max(10).default(2) }).default({ attempts: 2 }),
    parameters: z
      .strictObject({
        drop: z.array(parameterName).max(parametersMax).default([]),
        rename: bounded(z.record(parameterName, parameterName)).default({}),
        defaults: bounded(z.record(parameterName, z.json())).default({}),
      })
      .default({ drop: [], rename: {}, defaults: {} }),
    pricingRubPerMillionTokens: pricing.optional(),
    pricingRubPerRequest: decimal(
      /^\d{1,6}(\.\d{1,9})?$/,
      'must be roubles in quotes, such as "0.10"',
    ).default('0'),
    free: z.boolean().default(false),
    access: z
      .discriminatedUnion('scope', [
        z.strictObject({ scope: z.literal('All') }),
        z.strictObject({
          scope: z.literal('Organizations'),
          organizations: z.array(resourceName).min(1).max(1000),
        }),
      ])
      .default({ scope: 'All' }),
  })
  .superRefine((route, context) => {
    const { pricingRubPerMillionTokens: prices } = route
    if (prices === undefined && !route.free)
      context.addIssue('has no price: give pricingRubPerMillionTokens, or say free: true')
    if (prices !== undefined && route.free)
      context.addIssue({ code: 'custom', path: ['free'], message: 'excludes prices: give one or the other' })
    if (prices !== undefined && route.type === 'chat' && prices.output === undefined)
      context.addIssue({
        code: 'custom',
        path: ['pricingRubPerMillionTokens'],
        message: 'needs the price of output',
      })
    if (new Set(route.backends.map(({ name }) => name)).size < route.backends.length)
      context.addIssue({ code: 'custom', path: ['backends'], message: 'has two backends of one name' })
  })

/** A model that clients may name: where it runs and what it costs. */
export const modelRouteSchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal('ModelRoute'),
  metadata,
  spec,
  /** Conditions: Accepted, ResolvedRefs, BackendsHealthy, Programmed, Ready. */
  status: z
    .looseObject({
      observedGeneration: z.int().optional(),
      revision: z.string().optional(),
      backendsReady: z.string().optional(),
      conditions: z.array(condition).optional(),
    })
    .optional(),
})

export type ModelRoute = z.infer<typeof modelRouteSchema>

function bounded<Value extends z.ZodType<Record<string, unknown>>>(schema: Value): Value {
  return schema.refine((given) => Object.keys(given).length <= parametersMax, {
    error: `must have at most ${parametersMax} entries`,
  })
}
