import { z } from 'zod'
import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { formatRub } from '../../ledger/money.ts'
import { roubles } from '../../ledger/roubles.ts'
import { topUpMin } from '../../payments/payment-contracts.ts'
import type { Shop } from '../../payments/shop.ts'
import { documentsInForce } from '../../people/documents-in-force.ts'
import type { WebConfig } from '../config.ts'

const contract = {
  operation: 'readConfig',
  summary: 'What a page has to know before anybody has signed in',
  method: 'GET',
  url: '/api/v1/config',
  access: { to: 'anyone' },
  answers: {
    200: z.object({
      gateway_base_url: z
        .string()
        .meta({ description: 'What SDK clients call.', examples: ['https://x.example/v1'] }),
      top_up: z
        .object({ min_rub: roubles, max_rub: roubles })
        .nullable()
        .meta({ description: 'Of one payment; null: nobody can pay here.' }),
      documents: z
        .array(z.object({ kind: z.enum(['offer', 'personal_data']), version: z.string() }))
        .meta({ description: 'What somebody agrees to who registers now.' }),
    }),
  },
  cacheSeconds: 60,
} as const

/** What this process is set up for, as far as everybody may know. */
export function configEndpoint(
  { gatewayBaseUrl, topUpMax }: Pick<WebConfig, 'gatewayBaseUrl' | 'topUpMax'>,
  shop: Shop | undefined,
): Endpoint {
  const body = {
    gateway_base_url: gatewayBaseUrl,
    top_up: shop === undefined ? null : { min_rub: formatRub(topUpMin), max_rub: formatRub(topUpMax) },
    documents: documentsInForce(),
  }
  return endpoint(contract, async () => ({ status: 200, body }))
}
