import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { time } from '../api/fields.ts'
import { rubles } from '../billing/rubles.ts'

export const pricing = z
  .object({
    input: rubles,
    cached_input: rubles.nullable(),
    cache_write: rubles.nullable(),
    output: rubles,
    reasoning: rubles.nullable(),
    per_request: rubles,
  })
  .meta({
    id: 'Pricing',
    description:
      'Rubles per 1M tokens, and per request. A null class costs as much as its family: input for cached_input and cache_write, output for reasoning.',
  })

const pricedModel = z
  .object({
    id: z.string(),
    name: z.string(),
    provider: z.string(),
    type: z.enum(['chat', 'embedding']),
    description: z.string(),
    context_length: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    input_modalities: z.array(z.string()),
    capabilities: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Of tools, structured_output and reasoning; null: unknown.' }),
    countries: z.array(z.string()).nullable().meta({
      description:
        'Where its providers and those of its fallback models process requests, as in ISO 3166-1 alpha-2; null: unknown for one of them.',
    }),
    free: z.boolean(),
    pricing,
    next_pricing: pricing.nullable(),
    next_pricing_from: z.iso.datetime().nullable(),
  })
  .meta({ id: 'PricedModel' })

export type PricedModel = z.input<typeof pricedModel>

export const listPricedModels = {
  operation: 'listPricedModels',
  summary: 'List models with their prices in rubles',
  method: 'GET',
  url: '/api/v1/models/models-with-pricing',
  access: { to: 'anyone' },
  answers: {
    200: z.object({ currency: z.literal('RUB'), unit: z.literal('1M tokens'), data: z.array(pricedModel) }),
  },
  cacheSeconds: 60,
} as const satisfies Contract

const percentiles = z
  .object({ p50: z.int(), p95: z.int().nullable() })
  .nullable()
  .meta({ description: 'null: too few measurements. p95 needs 100.' })

const modelDetails = z
  .object({
    prices: z
      .array(
        z.object({
          state: z.enum(['in_force', 'scheduled', 'past']),
          pricing,
          valid_from: time,
        }),
      )
      .meta({
        description:
          'The next one, the one in force, and at most 38 that were in force while the model was open to all, the latest first; none of a free model.',
      }),
    last_week: z
      .object({
        from: time,
        to: time,
        failed_share: z.number().nullable().meta({
          description: 'Of 1: requests that no provider answered, or that it cut off. null: too few.',
        }),
        first_token_ms: percentiles,
        duration_ms: percentiles,
      })
      .meta({ description: 'Measured by our gateways in requests of all organizations.' }),
    status: z.enum(['operational', 'degraded', 'failing', 'no_data']).meta({
      description: 'Of the current and the previous hour: below 5 %, below 50 %, or more requests failed.',
    }),
  })
  .meta({ id: 'ModelDetails' })

export type ModelDetails = z.input<typeof modelDetails>

export const readModelDetails = {
  operation: 'readModelDetails',
  summary: 'Read the earlier and scheduled prices of a model, and how it worked in the last 7 days',
  method: 'GET',
  url: '/api/v1/models/model-details',
  access: { to: 'anyone' },
  query: z.strictObject({ model: storable(z.string().min(1).max(253)) }),
  answers: {
    200: z.object({
      model: z.string(),
      removed: z.boolean().meta({ description: 'Whether the model is no longer in the catalog.' }),
      successor: z.string().nullable().meta({ description: 'Of a removed model; null: unknown.' }),
      details: modelDetails.nullable().meta({ description: 'null: removed.' }),
    }),
  },
  problems: ['not_found'],
  cacheSeconds: 60,
} as const satisfies Contract

/** More than any current context, and few enough for the cost to fit into a balance. */
const tokensMax = 1_000_000_000

const tokens = z.int().min(0).max(tokensMax)

export const estimateCost = {
  operation: 'estimateCost',
  summary: 'Estimate the cost of a request',
  method: 'POST',
  url: '/api/v1/pricing/estimate',
  access: { to: 'anyone' },
  body: z.strictObject({
    model: storable(z.string().min(1).max(253)),
    input_tokens: tokens,
    output_tokens: tokens.default(0),
    cached_input_tokens: tokens.default(0),
    cache_write_tokens: tokens.default(0),
    reasoning_tokens: tokens.default(0),
  }),
  answers: { 200: z.object({ model: z.string(), price_id: z.uuid().nullable(), cost_rub: rubles }) },
  problems: ['not_found'],
} as const satisfies Contract
