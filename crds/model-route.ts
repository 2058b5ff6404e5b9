import { z } from 'zod'
import {
  apiVersion,
  conditions,
  decimal,
  duration,
  durationMs,
  durationPattern,
  metadata,
  modelName,
  observedGeneration,
  organizationName,
  partName,
  resourceName,
} from './resource.ts'
import { areDistinct, matchesCel, namedList, ruled, setList } from './rule.ts'
import { isStorable, storable, unstorable, withStorableNames } from './storable.ts'

/** Tokens: no model of today comes near. */
const tokensMax = 1_000_000_000
const parametersMax = 64
const parameterLengthMax = 128
const parameterName = z.string().min(1).max(parameterLengthMax)

const price = decimal(
  /^\d{1,12}(\.\d{1,3})?$/,
  'must be roubles in quotes with at most 3 decimals, such as "15.500"',
)

/** A price that is none. */
const zero = /^0+(\.0+)?$/

const model = ruled(modelName, [
  { cel: 'self == oldSelf', message: 'is immutable: create a second ModelRoute, then delete this one' },
])

const backend = z.strictObject({
  name: partName.describe('What receipts call it.'),
  providerRef: z
    .strictObject({ name: resourceName.describe('Of the ModelProvider.') })
    .describe('A ModelProvider of this namespace.'),
  model: storable(z.string().min(1).max(512)).describe("The model's name at the provider."),
  priority: z.int().min(0).max(1000).default(0).describe('Lower is tried first.'),
  weight: z.int().min(0).max(1000).default(1).describe('Share within one priority; 0: never tried.'),
})

const backends = z
  .array(backend)
  .min(1)
  .max(16)
  .refine((all) => areDistinct(all.map(({ name }) => name)), { error: 'has two backends of one name' })
  .meta(namedList)

const span = duration({ minMs: 100, maxMs: 3_600_000 })

const timeouts = ruled(
  z.strictObject({
    request: span.default('10m').describe('The whole answer, every try of it.'),
    firstByte: span.default('60s').describe('From a try to the first chunk of its stream.'),
    streamIdle: span.default('60s').describe('Longest silence within a stream.'),
  }),
  [
    {
      // What is no span of time has its own sentence.
      cel: [
        `!${matchesCel(durationPattern, 'self.firstByte')}`,
        `!${matchesCel(durationPattern, 'self.request')}`,
        'duration(self.firstByte) <= duration(self.request)',
      ].join(' || '),
      message: 'must not exceed request',
      holds: ({ firstByte, request }) =>
        ![firstByte, request].every((text) => durationPattern.test(text)) ||
        durationMs(firstByte) <= durationMs(request),
      field: 'firstByte',
    },
  ],
)

const pricing = z.strictObject({
  input: price.describe('Of the prompt.'),
  cachedInput: price.optional().describe('Of what the provider had in its cache. Absent: as input.'),
  cacheWrite: price.optional().describe('Of what it put there. Absent: as input.'),
  output: price.optional().describe('Required of a chat; an embedding has none.'),
  reasoning: price.optional().describe('Of what the model thinks before it answers. Absent: as output.'),
})

/** What a request alone says: a default of one would change what is asked for, or how much is held for it. */
const ofRequests: readonly string[] = ['n', 'model', 'messages', 'input', 'stream']
const ofRequestsSaid = 'n, model, messages, input or stream: the request alone says them'

const renames = ruled(withStorableNames(z.record(z.string(), storable(parameterName))), [
  {
    cel: `self.all(name, name.size() >= 1 && name.size() <= ${parameterLengthMax})`,
    message: `must rename names of 1 to ${parameterLengthMax} characters`,
    holds: (given) =>
      Object.keys(given).every((name) => name.length >= 1 && name.length <= parameterLengthMax),
  },
  {
    cel: `self.all(name, !(self[name] in [${ofRequests.map((name) => `'${name}'`).join(', ')}]))`,
    message: `must not rename to ${ofRequestsSaid}`,
    holds: (given) => Object.values(given).every((name) => !ofRequests.includes(name)),
  },
])

/** Arrays and objects within each other: more than a provider takes, and far from what overflows a reader's stack. */
const parameterLevelsMax = 64

// Asked before `z.json()`, which goes as deep as its input.
const parameterValue = z
  .unknown()
  .refine((value) => isShallow(value, parameterLevelsMax), {
    error: `must not be nested more than ${parameterLevelsMax} deep`,
    abort: true,
  })
  .pipe(z.json())

const parameters = z.strictObject({
  drop: z.array(storable(parameterName)).max(parametersMax).default([]).describe('Not sent.'),
  rename: bounded(renames).default({}).describe('Sent under another name.'),
  // CEL sees nothing of a map of any JSON, so zod alone asks what its names and texts are, and how deep it is.
  defaults: bounded(
    z
      .record(parameterName, parameterValue)
      .refine(isStorable, { error: unstorable })
      .refine((given) => Object.keys(given).every((name) => !ofRequests.includes(name)), {
        error: `must not hold ${ofRequestsSaid}`,
      }),
  )
    .default({})
    .describe('Sent where the request says nothing.'),
})

const accessScope = <const Scope extends string>(scope: Scope) =>
  z.literal(scope).describe('All of them, or some by their names.')

const access = z.discriminatedUnion('scope', [
  z.strictObject({ scope: accessScope('All') }),
  z.strictObject({
    scope: accessScope('Organizations'),
    organizations: z
      .array(organizationName)
      .min(1)
      .max(256)
      .refine(areDistinct, { error: 'must not have one organization twice' })
      .meta(setList)
      .describe('Who may see and use it, by their names in the cabinet.'),
  }),
])

const fields = z.strictObject({
  model: model.describe('What clients send, <provider>/<model>; unique. Immutable.'),
  type: z.enum(['chat', 'embedding']).default('chat').describe('What it is asked for.'),
  displayName: storable(z.string().max(120)).optional().describe('What people call it.'),
  description: storable(z.string().max(2000)).default('').describe('What people read of it.'),
  contextLength: z.int().min(1).max(tokensMax).optional().describe('Tokens of prompt and answer together.'),
  maxOutputTokens: z.int().min(1).max(tokensMax).optional().describe('Longest answer that it can give.'),
  defaultOutputTokens: z
    .int()
    .min(1)
    .max(tokensMax)
    .default(4096)
    .describe('Money is held for so many where the request names no limit; never sent.'),
  backends: backends.describe('Where it runs.'),
  fallbacks: z
    .array(modelName)
    .max(8)
    .default([])
    .describe("Other routes' models, in order, for when this one cannot."),
  timeouts: timeouts
    .default({ request: '10m', firstByte: '60s', streamIdle: '60s' })
    .describe('How long it is waited for.'),
  retry: z
    .strictObject({
      attempts: z.int().min(1).max(10).default(2).describe('Tries per model, first one included.'),
    })
    .default({ attempts: 2 })
    .describe('How often it is tried.'),
  parameters: parameters
    .default({ drop: [], rename: {}, defaults: {} })
    .describe("Over what is known of the provider's own wire."),
  pricingRubPerMillionTokens: pricing
    .optional()
    .describe(
      'Roubles per 1M tokens, decimal strings. A class without a price takes that of its family, never 0.',
    ),
  pricingRubPerRequest: decimal(/^\d{1,6}(\.\d{1,9})?$/, 'must be roubles in quotes, such as "0.10"')
    .default('0')
    .describe('Roubles for each request, beside its tokens.'),
  free: z.boolean().default(false).describe('Said instead of prices: it costs nothing.'),
  access: access.default({ scope: 'All' }).describe('Who may see and use it.'),
})

const spec = ruled(fields, [
  {
    cel: 'has(self.pricingRubPerMillionTokens) || (has(self.free) && self.free)',
    message: 'has no price: give pricingRubPerMillionTokens, or say free: true',
    holds: ({ pricingRubPerMillionTokens, free }) => pricingRubPerMillionTokens !== undefined || free,
  },
  {
    cel: [
      '!has(self.free) || !self.free',
      `!has(self.pricingRubPerMillionTokens) && (!has(self.pricingRubPerRequest) || ${matchesCel(zero, 'self.pricingRubPerRequest')})`,
    ].join(' || '),
    message: 'excludes prices: give one or the other',
    holds: ({ pricingRubPerMillionTokens, pricingRubPerRequest, free }) =>
      !free || (pricingRubPerMillionTokens === undefined && zero.test(pricingRubPerRequest)),
    field: 'free',
  },
  {
    cel: "!has(self.pricingRubPerMillionTokens) || self.type != 'chat' || has(self.pricingRubPerMillionTokens.output)",
    message: 'needs the price of output',
    holds: ({ pricingRubPerMillionTokens: prices, type }) =>
      prices === undefined || type !== 'chat' || prices.output !== undefined,
    field: 'pricingRubPerMillionTokens',
  },
  {
    cel: '!has(self.fallbacks) || !(self.model in self.fallbacks)',
    message: 'must not name the model itself',
    holds: ({ model: own, fallbacks }) => !fallbacks.includes(own),
    field: 'fallbacks',
  },
  {
    cel: 'self.backends.exists(b, b.weight > 0)',
    message: 'need one with a weight above 0: nothing would ever be tried',
    holds: ({ backends: all }) => all.some(({ weight }) => weight > 0),
    field: 'backends',
  },
])

/** A model that clients may name: where it runs and what it costs. */
export const modelRouteSchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal('ModelRoute'),
  metadata,
  spec,
  /** Conditions: Accepted, ResolvedRefs, BackendsHealthy, Programmed, Ready. */
  status: z
    .looseObject({
      observedGeneration,
      revision: z.int().min(0).optional().describe('Of the catalogue that has its last change.'),
      backendsReady: z.string().max(16).optional().describe('Healthy of those that may be tried: "1/2".'),
      backends: z
        .array(
          z.looseObject({
            name: z.string().max(63),
            healthy: z.boolean().optional(),
            message: z.string().max(1024).optional(),
          }),
        )
        .max(16)
        .meta(namedList)
        .optional(),
      conditions: conditions.optional(),
    })
    .optional(),
})

export type ModelRoute = z.infer<typeof modelRouteSchema>

function bounded<Value extends z.ZodType<Record<string, unknown>>>(schema: Value): Value {
  return schema
    .refine((given) => Object.keys(given).length <= parametersMax, {
      error: `must have at most ${parametersMax} entries`,
    })
    .meta({ maxProperties: parametersMax })
}

/** Whether arrays and objects lie within each other at most so many levels deep; looks no deeper itself. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1))
}
