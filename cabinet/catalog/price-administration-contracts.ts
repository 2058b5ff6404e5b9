import { z } from 'zod'
import { modelPricingSchema } from '#crds/model-route'
import type { Contract } from '../api/contract.ts'
import { askedTime, id, pathId, time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { rubles } from '../billing/rubles.ts'
import { pricing } from './catalog-contracts.ts'
import {
  administratorAgain,
  adminReadModel,
  modelPath,
  reason,
  shownModelWithSpec,
} from './model-administration-contracts.ts'

const shownPriceVersion = z
  .object({
    id,
    state: z.enum(['in_force', 'scheduled', 'canceled', 'past']),
    pricing,
    valid_from: time.meta({ description: 'From when on it applies, or would have.' }),
    canceled_at: time.nullable(),
  })
  .meta({ id: 'AdminPrice' })

export const adminListPrices = {
  operation: 'adminListPrices',
  summary: 'List the prices of a model: past, in force, scheduled and canceled, the last written first',
  method: 'GET',
  url: '/api/v1/admin/models/:model/prices',
  access: adminReadModel.access,
  params: modelPath,
  query: z.strictObject({ limit: pageLimit, cursor: cursorOf(z.string().regex(/^\d{1,18}$/)) }),
  answers: { 200: pageOf(shownPriceVersion) },
  problems: ['not_found'],
} as const satisfies Contract

export const adminSetPrice = {
  operation: 'adminSetPrice',
  summary: 'Change the price of a model, now or at a time at least a minute ahead',
  method: 'POST',
  url: '/api/v1/admin/models/:model/prices',
  access: administratorAgain,
  params: modelPath,
  body: z.strictObject({
    spec: modelPricingSchema.meta({ description: 'The price, as in the spec of a ModelRoute.' }),
    valid_from: askedTime().optional().meta({ description: 'If absent, the price applies now.' }),
    replaces: id.optional().meta({ description: 'A scheduled price that is canceled in the same step.' }),
    reason,
  }),
  answers: { 201: shownModelWithSpec },
  problems: ['not_found', 'managed_by_cluster', 'precondition_failed'],
  ifMatch: true,
} as const satisfies Contract

export const adminCancelPrice = {
  operation: 'adminCancelPrice',
  summary: 'Cancel a scheduled price, until 15 seconds before its time',
  method: 'POST',
  url: '/api/v1/admin/models/:model/prices/:price_id/cancel',
  access: administratorAgain,
  params: modelPath.extend({ price_id: pathId }),
  body: z.strictObject({ reason }),
  answers: { 200: shownModelWithSpec },
  problems: ['not_found', 'managed_by_cluster', 'price_too_late'],
} as const satisfies Contract

export const adminPreviewPrice = {
  operation: 'adminPreviewPrice',
  summary: 'Compute what the requests of the last 7 days would have cost at a price; changes nothing',
  method: 'POST',
  url: '/api/v1/admin/models/:model/prices/preview',
  access: adminReadModel.access,
  params: modelPath,
  body: z.strictObject({ spec: modelPricingSchema }),
  answers: {
    200: z.object({
      from: time,
      to: time,
      request_count: z.string().meta({
        description:
          'Settled requests that ran this model. One that failed counts, too, so a price per request makes cost_at_price_rub an upper bound.',
      }),
      cost_rub: rubles.meta({ description: 'What they did cost.' }),
      cost_at_price_rub: z
        .string()
        .meta({ description: 'Rubles, as a decimal. It may be larger than any balance.' }),
    }),
  },
  problems: ['not_found'],
} as const satisfies Contract
