import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
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
      description: 'Where its providers process requests, as in ISO 3166-1 alpha-2; null: unknown.',
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
