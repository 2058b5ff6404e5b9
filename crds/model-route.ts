import { z } from 'zod'
import {
  apiVersion,
  conditionsThat,
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
import { areDistinct, matchesCel, namedList, ruled, setList, unwrittenDefault } from './rule.ts'
import { isStorable, storable, unstorable, withStorableNames } from './storable.ts'

/** Tokens: no model of today comes near. */
const tokensMax = 1_000_000_000
const parametersMax = 64
const parameterLengthMax = 128
const parameterName = z.string().min(1).max(parameterLengthMax)

const price = decimal(
  /^\d{1,12}(\.\d{1,3})?$/,
  'must be a quoted amount of rubles with at most 3 decimal places, such as "15.500"',
)

/** A price of zero. */
const zero = /^0+(\.0+)?$/

const model = ruled(modelName, [
  { cel: 'self == oldSelf', message: 'is immutable: create a second ModelRoute, then delete this one' },
])

const backend = z.strictObject({
  name: partName.describe('Name of the backend, shown in receipts.'),
  providerRef: z
    .strictObject({
      name: resourceName.describe('Name of the ModelProvider.'),
      namespace: partName
        .optional()
        .describe(
          'Namespace of the ModelProvider, whose spec.allowedRoutes must allow this one. Defaults to the namespace of the ModelRoute.',
        ),
    })
    .describe('ModelProvider that serves the model.'),
  model: storable(z.string().min(1).max(512)).describe('Name of the model at the provider.'),
  priority: z
    .int()
    .min(0)
    .max(1000)
    .default(0)
    .describe('Backends with a lower priority value are tried first.'),
  weight: z
    .int()
    .min(0)
    .max(1000)
    .default(1)
    .describe('Share of the traffic among backends of the same priority. 0 takes the backend out of use.'),
})

const backends = z
  .array(backend)
  .min(1)
  .max(16)
  .refine((all) => areDistinct(all.map(({ name }) => name)), {
    error: 'must not contain two backends with the same name',
  })
  .meta(namedList)

const firstByteDefault = '60s'

const span = duration({ minMs: 100, maxMs: 3_600_000 })

const timeouts = ruled(
  z.strictObject({
    request: span.default('10m').describe('Time for the whole request, including all attempts.'),
    firstByte: span
      .default(firstByteDefault)
      .describe(
        'Time from the start of an attempt to the first chunk of its stream. Defaults to 60s, or to request if that is shorter.',
      ),
    streamIdle: span.default('60s').describe('Longest pause between two chunks of a stream.'),
  }),
  [
    {
      // A value that is not a duration has its own message. The default is in the object before this rule sees it.
      cel: [
        `self.firstByte == '${firstByteDefault}'`,
        `!${matchesCel(durationPattern, 'self.firstByte')}`,
        `!${matchesCel(durationPattern, 'self.request')}`,
        'duration(self.firstByte) <= duration(self.request)',
      ].join(' || '),
      message: 'must not be longer than request',
      holds: ({ firstByte, request }) =>
        firstByte === firstByteDefault ||
        ![firstByte, request].every((text) => durationPattern.test(text)) ||
        durationMs(firstByte) <= durationMs(request),
      field: 'firstByte',
    },
  ],
)

const pricing = z.strictObject({
  input: price.describe('Price of prompt tokens.'),
  cachedInput: price
    .optional()
    .describe('Price of prompt tokens read from the cache of the provider. Defaults to input.'),
  cacheWrite: price
    .optional()
    .describe('Price of prompt tokens written to the cache of the provider. Defaults to input.'),
  output: price.optional().describe('Price of output tokens. Required for a chat model.'),
  reasoning: price.optional().describe('Price of reasoning tokens. Defaults to output.'),
})

/** Parameters that only the request may set: a default would change what is asked for, or how much is held for it. */
const ofRequests: readonly string[] = ['n', 'model', 'messages', 'input', 'stream']
const ofRequestsSaid = 'n, model, messages, input or stream: only the request may set these'

const renames = ruled(withStorableNames(z.record(z.string(), storable(parameterName))), [
  {
    cel: `self.all(name, name.size() >= 1 && name.size() <= ${parameterLengthMax})`,
    message: `must have keys of 1 to ${parameterLengthMax} characters`,
    holds: (given) =>
      Object.keys(given).every((name) => name.length >= 1 && name.length <= parameterLengthMax),
  },
  {
    cel: `self.all(name, !(self[name] in [${ofRequests.map((name) => `'${name}'`).join(', ')}]))`,
    message: `must not rename a parameter to ${ofRequestsSaid}`,
    holds: (given) => Object.values(given).every((name) => !ofRequests.includes(name)),
  },
])

/** Nesting of arrays and objects: more than any provider accepts, and far below what overflows a reader's stack. */
const parameterLevelsMax = 64

// Checked before `z.json()`, which goes as deep as its input.
const parameterValue = z
  .unknown()
  .refine((value) => isShallow(value, parameterLevelsMax), {
    error: `must not be nested more than ${parameterLevelsMax} levels deep`,
    abort: true,
  })
  .pipe(z.json())

const parameters = z.strictObject({
  drop: z
    .array(storable(parameterName))
    .max(parametersMax)
    .default([])
    .describe('Parameters that are not sent to the provider.'),
  rename: bounded(renames).default({}).describe('Parameters that are sent under another name.'),
  // CEL sees nothing of a map of any JSON, so only zod checks its names, its texts and its depth.
  defaults: bounded(
    z
      .record(parameterName, parameterValue)
      .refine(isStorable, { error: unstorable })
      .refine((given) => Object.keys(given).every((name) => !ofRequests.includes(name)), {
        error: `must not contain ${ofRequestsSaid}`,
      }),
  )
    .default({})
    .describe('Values of parameters that the request does not set.'),
})

const accessScope = <const Scope extends string>(scope: Scope) =>
  z.literal(scope).describe('All, or only the organizations listed.')

const access = z.discriminatedUnion('scope', [
  z.strictObject({ scope: accessScope('All') }),
  z.strictObject({
    scope: accessScope('Organizations'),
    organizations: z
      .array(organizationName)
      .min(1)
      .max(256)
      .refine(areDistinct, { error: 'must not contain the same organization twice' })
      .meta(setList)
      .describe('Names of the organizations that may see and use the model.'),
  }),
])

/** As OpenAI and OpenRouter name them. */
const inputModality = z.enum(['text', 'image', 'audio', 'file', 'video'])

const inputModalities = z
  .array(inputModality)
  .min(1)
  .max(inputModality.options.length)
  .refine(areDistinct, { error: 'must not contain the same kind of input twice' })
  .meta(setList)

/** What a model can do in addition to writing text. */
const capability = z.enum(['tools', 'structured_output', 'reasoning'])

const capabilities = z
  .array(capability)
  .max(capability.options.length)
  .refine(areDistinct, { error: 'must not contain the same capability twice' })
  .meta(setList)

const pricePerRequest = decimal(
  /^\d{1,6}(\.\d{1,9})?$/,
  'must be a quoted amount of rubles, such as "0.10"',
).default('0')

/** What a model costs, as in the spec of its ModelRoute. */
export const modelPricingSchema = z.strictObject({
  pricingRubPerMillionTokens: pricing,
  pricingRubPerRequest: pricePerRequest,
})

const fields = z.strictObject({
  model: model.describe(
    'Name that clients send, <provider>/<model>. Unique across the installation. Immutable.',
  ),
  type: z.enum(['chat', 'embedding']).default('chat').describe('What the model is used for.'),
  displayName: storable(z.string().max(120)).optional().describe('Name shown to users. Defaults to model.'),
  description: storable(z.string().max(2000)).default('').describe('Description shown to users.'),
  inputModalities: inputModalities
    .default(['text'])
    .meta(unwrittenDefault)
    .describe(
      'Kinds of input that the model accepts, shown to users. Requests are not checked against them. Defaults to text.',
    ),
  capabilities: capabilities
    .optional()
    .describe(
      'What the model can do: call tools, follow a JSON schema, reason. Shown to users. Requests are not checked against it. Unset means unknown.',
    ),
  contextLength: z
    .int()
    .min(1)
    .max(tokensMax)
    .optional()
    .describe(
      'Largest number of input and output tokens together. Required for priced models that read images, files or sound: it bounds what such a request can cost.',
    ),
  maxOutputTokens: z
    .int()
    .min(1)
    .max(tokensMax)
    .optional()
    .describe('Largest number of tokens in an answer.'),
  hiddenReasoning: z
    .boolean()
    .optional()
    .describe(
      'Whether the model may reason without showing it. Defaults to true. If false, a request whose client disconnects is canceled at providers where that also ends the bill; otherwise the answer is read to its end and billed.',
    ),
  defaultOutputTokens: z
    .int()
    .min(1)
    .max(tokensMax)
    .default(4096)
    .describe(
      'Number of output tokens to hold money for when the request sets no limit. Never sent to the provider.',
    ),
  backends: backends.describe('Where the model runs.'),
  fallbacks: z
    .array(modelName)
    .max(8)
    .default([])
    .describe('Models of other routes to try, in this order, when all backends of this route fail.'),
  timeouts: timeouts
    .default({ request: '10m', firstByte: firstByteDefault, streamIdle: '60s' })
    .describe('How long to wait for the model.'),
  retry: z
    .strictObject({
      attempts: z.int().min(1).max(10).default(2).describe('Attempts per model, including the first one.'),
    })
    .default({ attempts: 2 })
    .describe('How often to try each model.'),
  parameters: parameters
    .default({ drop: [], rename: {}, defaults: {} })
    .describe('Changes to request parameters, in addition to those known for the API of the provider.'),
  pricingRubPerMillionTokens: pricing
    .optional()
    .describe(
      'Prices in rubles per 1M tokens, as decimal strings. A kind of token without a price costs as much as input or output, never 0.',
    ),
  pricingRubPerRequest: pricePerRequest.describe(
    'Price of each request in rubles, in addition to its tokens.',
  ),
  free: z.boolean().default(false).describe('Makes the model free. Set this instead of prices.'),
  access: access.default({ scope: 'All' }).describe('Who may see and use the model.'),
})

const spec = ruled(fields.describe('Which model clients may name, where it runs, and what it costs.'), [
  {
    cel: 'has(self.pricingRubPerMillionTokens) || (has(self.free) && self.free)',
    message: 'must have a price: set pricingRubPerMillionTokens, or set free to true',
    holds: ({ pricingRubPerMillionTokens, free }) => pricingRubPerMillionTokens !== undefined || free,
  },
  {
    cel: [
      '!has(self.free) || !self.free',
      `!has(self.pricingRubPerMillionTokens) && (!has(self.pricingRubPerRequest) || ${matchesCel(zero, 'self.pricingRubPerRequest')})`,
    ].join(' || '),
    message: 'must not be true when a price is set',
    holds: ({ pricingRubPerMillionTokens, pricingRubPerRequest, free }) =>
      !free || (pricingRubPerMillionTokens === undefined && zero.test(pricingRubPerRequest)),
    field: 'free',
  },
  {
    cel: "!has(self.pricingRubPerMillionTokens) || self.type != 'chat' || has(self.pricingRubPerMillionTokens.output)",
    message: 'must include output for a chat model',
    holds: ({ pricingRubPerMillionTokens: prices, type }) =>
      prices === undefined || type !== 'chat' || prices.output !== undefined,
    field: 'pricingRubPerMillionTokens',
  },
  {
    cel: '!has(self.fallbacks) || !(self.model in self.fallbacks)',
    message: 'must not contain the model of this route',
    holds: ({ model: own, fallbacks }) => !fallbacks.includes(own),
    field: 'fallbacks',
  },
  {
    cel: 'self.backends.exists(b, b.weight > 0)',
    message: 'must include at least one backend with a weight above 0',
    holds: ({ backends: all }) => all.some(({ weight }) => weight > 0),
    field: 'backends',
  },
])

/** A model that clients may name: where it runs and what it costs. */
export const modelRouteSchema = z
  .strictObject({
    apiVersion: z.literal(apiVersion),
    kind: z.literal('ModelRoute'),
    metadata,
    spec,
    status: z
      .looseObject({
        observedGeneration,
        revision: z
          .int()
          .min(0)
          .optional()
          .describe('Catalog revision that contains the latest change to this route.'),
        backendsReady: z
          .string()
          .max(16)
          .optional()
          .describe('Healthy backends out of those in use, such as "1/2".'),
        backends: z
          .array(
            z.looseObject({
              name: z.string().max(63).describe('Name of the backend.'),
              healthy: z.boolean().optional().describe('Whether no gateway reports a problem with it.'),
              message: z.string().max(1024).optional().describe('Report of the gateways, for users.'),
            }),
          )
          .max(16)
          .meta(namedList)
          .optional()
          .describe('The backends in use.'),
        conditions: conditionsThat(
          'Accepted: the spec is valid and the model is free. ResolvedRefs: the providers exist; the message names fallbacks that are not tried. BackendsHealthy: at least one backend works. Programmed: every gateway serves the route. Ready: all of this.',
        ),
      })
      .optional()
      .describe('What became of the spec. Written by the operator.'),
  })
  .describe('A model that clients may name: the providers that run it, and what it costs.')

export type ModelRoute = z.infer<typeof modelRouteSchema>

function bounded<Value extends z.ZodType<Record<string, unknown>>>(schema: Value): Value {
  return schema
    .refine((given) => Object.keys(given).length <= parametersMax, {
      error: `must have at most ${parametersMax} entries`,
    })
    .meta({ maxProperties: parametersMax })
}

/** Whether arrays and objects are nested at most this many levels deep. Looks no deeper itself. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1))
}
