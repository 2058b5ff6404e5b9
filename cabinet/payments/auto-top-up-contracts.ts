import { z } from 'zod'
import { nanoRub } from '#core/ledger/money'
import type { Contract } from '../api/contract.ts'
import { time } from '../api/fields.ts'
import { rubles } from '../billing/rubles.ts'
import { topUpMin, wholeKopecks } from './payment-contracts.ts'

const settings = z.object({
  threshold_rub: rubles.meta({ description: 'The card is charged when the posted balance is below this.' }),
  amount_rub: rubles.meta({ description: 'The amount of each automatic payment.' }),
  daily_max_rub: rubles.meta({
    description:
      'Automatic payments add up to no more in a day of the time zone of the organization. Those of the last 24 hours count after a change of the time zone.',
  }),
})

/** What members and administrators see of automatic top-ups. */
export const autoTopUp = z
  .object({
    state: z.enum(['no_card', 'off', 'on', 'stopped']).meta({
      description:
        'off: a card is saved, and nothing was set. stopped: a payment failed, and nothing is charged until the settings are saved again.',
    }),
    card: z
      .object({
        brand: z.string(),
        last4: z.string(),
        expires: z.string().meta({ description: 'The last month in which it works: `2030-12`.' }),
        saved_at: time,
      })
      .nullable(),
    settings: settings.nullable(),
    charged_today_rub: rubles.meta({ description: 'Automatic payments of today that have not failed.' }),
    stop: z
      .object({
        at: time,
        reason: z.string().meta({
          description:
            'A code of the payment provider, `blocked` for a blocked organization or payer, or `no_outcome` for a payment without an outcome.',
        }),
      })
      .nullable(),
  })
  .meta({ id: 'AutoTopUp' })

export type ShownAutoTopUp = z.input<typeof autoTopUp>

const ownAutoTopUp = autoTopUp
  .extend({
    is_available: z.boolean().meta({ description: 'Whether payments can save a card here.' }),
    consent_version: z.string().meta({
      description: 'The version in force of the document `saved_card`, which a payer accepts to save a card.',
    }),
  })
  .meta({ id: 'OwnAutoTopUp' })

export const readAutoTopUp = {
  operation: 'readAutoTopUp',
  summary: 'Read the saved card and the automatic top-ups of the organization',
  method: 'GET',
  url: '/api/v1/auto-top-up',
  access: { to: 'member', right: 'billing.read' },
  answers: { 200: ownAutoTopUp },
} as const satisfies Contract

export const setAutoTopUp = {
  operation: 'setAutoTopUp',
  summary:
    'Turn automatic top-ups on, or change or resume them, as the user who saved the card; 404 without one',
  method: 'PATCH',
  url: '/api/v1/auto-top-up',
  access: { to: 'member', right: 'billing.write', confirmed: true },
  body: z
    .strictObject({
      threshold_rub: wholeKopecks(nanoRub(0n)),
      amount_rub: wholeKopecks(topUpMin),
      daily_max_rub: wholeKopecks(topUpMin),
    })
    .refine((body) => body.daily_max_rub >= body.amount_rub, {
      path: ['daily_max_rub'],
      error: 'must be at least amount_rub',
    }),
  answers: { 200: ownAutoTopUp },
  problems: ['not_found', 'not_own_card', 'payments_unavailable'],
} as const satisfies Contract

export const endAutoTopUp = {
  operation: 'endAutoTopUp',
  summary: 'End automatic top-ups and remove the saved card',
  method: 'DELETE',
  url: '/api/v1/auto-top-up',
  access: { to: 'member', right: 'billing.write' },
  answers: { 204: 'nothing' },
} as const satisfies Contract
