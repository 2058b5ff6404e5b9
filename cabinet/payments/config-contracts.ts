import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { rubles } from '../billing/rubles.ts'

/** Public configuration for anyone who may pay. It is separate from payments because pages read it before sign-in. */
export const readConfig = {
  operation: 'readConfig',
  summary: 'Read the configuration that pages need before sign-in',
  method: 'GET',
  url: '/api/v1/config',
  access: { to: 'anyone' },
  answers: {
    200: z.object({
      gateway_base_url: z
        .string()
        .meta({ description: 'The base URL for SDK clients.', examples: ['https://x.example/v1'] }),
      top_up: z
        .object({
          min_rub: rubles,
          max_rub: rubles,
          welcome: z
            .object({ from_rub: rubles, bonus_rub: rubles })
            .meta({ description: 'The bonus for the first payment of at least from_rub, once per mailbox.' }),
        })
        .nullable()
        .meta({ description: 'Limits of one payment; null if payments are not configured.' }),
      documents: z
        .array(z.object({ kind: z.enum(['offer', 'personal_data']), version: z.string() }))
        .meta({ description: 'The documents that new users accept at registration.' }),
    }),
  },
  cacheSeconds: 60,
} as const satisfies Contract
