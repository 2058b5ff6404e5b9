import { z } from 'zod'
import { nanoRub } from '#core/ledger/money'
import type { Contract } from '../api/contract.ts'
import { refuseField } from '../api/field-refusal.ts'
import { id } from '../api/fields.ts'
import { rubles, rublesFrom } from '../billing/rubles.ts'
import { isWholeHourZone } from './internal/time-zone.ts'

/** A billion rubles: far beyond any balance, and within the range of the column. */
const thresholdMax = nanoRub(1_000_000_000_000_000_000n)

/** The largest budget is that of a key. */
const budget = rublesFrom(nanoRub(1n), nanoRub(999_999_999_999_999_999n)).nullable()

const notOneLine = {
  code: 'not_one_line',
  en: 'Must be plain text on one line.',
  ru: 'Должно быть простым текстом в одну строку.',
} as const
const notWholeHours = {
  code: 'unsupported_time_zone',
  en: 'Must be an IANA time zone with a whole-hour UTC offset all year, such as Europe/Moscow.',
  ru: 'Нужен часовой пояс IANA, смещение которого от UTC весь год целое число часов, например Europe/Moscow.',
} as const

const displayName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .superRefine((text, context) => {
    if (!text.isWellFormed() || /\p{Cc}/u.test(text)) refuseField(context, notOneLine)
  })

const timeZone = z.string().superRefine((name, context) => {
  if (!isWholeHourZone(name, Date.now())) refuseField(context, notWholeHours)
})

const organization = z.object({
  id,
  name: z.string().meta({ description: 'A slug that never changes: the value of the Kubernetes label.' }),
  kubectl_label_command: z.string().meta({
    description:
      'A cluster administrator runs this command to let the ApiKeys of a namespace charge this organization.',
  }),
  display_name: z.string().nullable(),
  time_zone: z
    .string()
    .meta({ description: 'IANA name. Days on the usage page begin at midnight in this time zone.' }),
  low_balance_threshold_rub: rubles.nullable().meta({
    description: 'An email is sent once when the balance falls below this amount; null: no email.',
  }),
  daily_budget_rub: rubles.nullable().meta({
    description:
      'The most that all keys may spend per day in the time zone of the organization; null: no limit.',
  }),
  weekly_budget_rub: rubles.nullable().meta({ description: 'The most per week from Monday.' }),
  monthly_budget_rub: rubles.nullable().meta({ description: 'The most per calendar month.' }),
  total_budget_rub: rubles.nullable().meta({ description: 'The most that the organization may ever spend.' }),
})

export const getOrganization = {
  operation: 'getOrganization',
  summary: 'Read the organization',
  method: 'GET',
  url: '/api/v1/organization',
  access: { to: 'member', right: 'organization.read' },
  answers: { 200: organization },
} as const satisfies Contract

export const updateOrganization = {
  operation: 'updateOrganization',
  summary: 'Change display name, time zone, low-balance threshold or budgets',
  method: 'PATCH',
  url: '/api/v1/organization',
  access: { to: 'member', right: 'organization.write' },
  ifMatch: true,
  body: z.strictObject({
    display_name: displayName.nullable().optional(),
    time_zone: timeZone.optional(),
    low_balance_threshold_rub: rublesFrom(nanoRub(0n), thresholdMax).nullable().optional(),
    daily_budget_rub: budget.optional(),
    weekly_budget_rub: budget.optional(),
    monthly_budget_rub: budget.optional(),
    total_budget_rub: budget.optional(),
  }),
  answers: { 200: organization },
} as const satisfies Contract
