import { z } from 'zod'
import { baseAddress } from '#crds/address'
import type { Contract } from '../api/contract.ts'
import { time } from '../api/fields.ts'

const alerts = ['budget.reached', 'spend.spike', 'balance.low', 'test'] as const

const attempted = {
  created_at: time,
  status: z.enum(['waiting', 'delivered', 'failed']),
  attempts: z.int(),
  error_code: z
    .string()
    .nullable()
    .meta({ description: 'Why the last attempt failed: an HTTP status or a code; null: it did not.' }),
}

const delivery = z.object({ event: z.enum(alerts), ...attempted })
const message = z.object({ event: z.enum([...alerts, 'linked']), ...attempted })

const notifications = z.object({
  budgets: z.boolean().meta({
    description:
      'Whether to alert when a key or the organization has spent 50, 80 or 100 % of one of its budgets.',
  }),
  spend_spike: z.boolean().meta({
    description:
      'Whether to alert, once a day, when more than three times the median of the seven days before and at least 100 ₽ were spent.',
  }),
  webhook: z
    .object({ url: z.string(), last_delivery: delivery.nullable() })
    .nullable()
    .meta({ description: 'Where all alerts are posted, too; null: nowhere.' }),
  telegram: z
    .object({
      status: z.enum(['off', 'linked', 'ended']),
      chat_name: z.string().nullable(),
      ended_reason: z.enum(['blocked', 'stopped', 'not_found']).nullable().meta({
        description:
          '`blocked`: the bot was blocked or removed; `stopped`: the chat sent /stop; `not_found`: the chat no longer exists.',
      }),
      last_delivery: message.nullable(),
    })
    .nullable()
    .meta({
      description: 'The chat that gets all alerts, too; null: this installation has no Telegram bot.',
    }),
})

export type ShownNotifications = z.input<typeof notifications>

const access = { to: 'member', right: 'organization.write' } as const

export const getNotifications = {
  operation: 'getNotifications',
  summary: 'Read which alerts the organization gets',
  method: 'GET',
  url: '/api/v1/notifications',
  access,
  answers: { 200: notifications },
} as const satisfies Contract

export const updateNotifications = {
  operation: 'updateNotifications',
  summary: 'Turn alerts on or off; emails go to all owners',
  method: 'PATCH',
  url: '/api/v1/notifications',
  access,
  body: z.strictObject({ budgets: z.boolean().optional(), spend_spike: z.boolean().optional() }),
  answers: { 200: notifications },
} as const satisfies Contract

export const setWebhook = {
  operation: 'setWebhook',
  summary: 'Set the address of webhooks, with a new secret; only this response contains it',
  method: 'POST',
  url: '/api/v1/notifications/webhook',
  access: { ...access, confirmed: true },
  throttle: { perAddress: 30 },
  body: z.strictObject({
    url: baseAddress.meta({
      description:
        'Reachable from the internet by https. Redirects are not followed. Webhooks are signed as in Standard Webhooks and retried for a day.',
    }),
  }),
  answers: { 200: z.object({ notifications, secret: z.string() }) },
} as const satisfies Contract

export const removeWebhook = {
  operation: 'removeWebhook',
  summary: 'Stop webhooks; those that wait are not sent',
  method: 'DELETE',
  url: '/api/v1/notifications/webhook',
  access,
  answers: { 204: 'nothing' },
} as const satisfies Contract

export const linkTelegram = {
  operation: 'linkTelegram',
  summary: 'Create a link that connects a Telegram chat, once and for 15 minutes',
  method: 'POST',
  url: '/api/v1/notifications/telegram',
  access: { ...access, confirmed: true },
  throttle: { perAddress: 30 },
  answers: {
    200: z.object({
      url: z.string().meta({ description: 'Opens the bot in Telegram. Only this response contains it.' }),
      expires_at: time,
    }),
  },
  problems: ['not_found'],
} as const satisfies Contract

export const unlinkTelegram = {
  operation: 'unlinkTelegram',
  summary: 'Disconnect the Telegram chat; messages that wait are not sent',
  method: 'DELETE',
  url: '/api/v1/notifications/telegram',
  access,
  answers: { 204: 'nothing' },
} as const satisfies Contract

export const testNotifications = {
  operation: 'testNotifications',
  summary: 'Send a test by webhook and Telegram, and by email to the caller',
  method: 'POST',
  url: '/api/v1/notifications/test',
  access: { ...access, confirmed: true },
  throttle: { perAddress: 10 },
  answers: {
    200: z.object({
      email: z.string().meta({ description: 'The address that the email goes to.' }),
      webhook: z.boolean().meta({ description: 'Whether a webhook is sent, too.' }),
      telegram: z.boolean().meta({ description: 'Whether a message by Telegram is sent, too.' }),
    }),
  },
  problems: ['too_many_emails'],
} as const satisfies Contract
