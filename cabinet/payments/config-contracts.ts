import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { roubles } from '../ledger/roubles.ts'

/** Of everybody who may pay: apart from the payments themselves, since it is read before anybody has signed in. */
export const readConfig = {
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
        .object({
          ...{ min_rub: roubles, max_rub: roubles },
          welcome: z
            .object({ from_rub: roubles, bonus_rub: roubles })
            .meta({ description: 'What the first payment of at least from_rub adds, once per mailbox.' }),
        })
        .nullable()
        .meta({ description: 'Of one payment; null: nobody can pay here.' }),
      documents: z
        .array(z.object({ kind: z.enum(['offer', 'personal_data']), version: z.string() }))
        .meta({ description: 'What somebody agrees to who registers now.' }),
    }),
  },
  cacheSeconds: 60,
} as const satisfies Contract
