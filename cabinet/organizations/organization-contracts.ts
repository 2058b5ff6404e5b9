import { z } from 'zod'
import { nanoRub } from '#core/ledger/money'
import type { Contract } from '../api/contract.ts'
import { id } from '../api/fields.ts'
import { rubles, rublesFrom } from '../billing/rubles.ts'
import { isWholeHourZone } from './internal/time-zone.ts'

/** A billion rubles: far beyond any balance, and within the range of the column. */
const thresholdMax = nanoRub(1_000_000_000_000_000_000n)

const displayName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must be plain text on one line')

const timeZone = z
  .string()
  .refine(
    (name) => isWholeHourZone(name, Date.now()),
    'must be an IANA time zone with a whole-hour UTC offset all year, such as Europe/Moscow',
  )

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
  summary: 'Change display name, time zone or low-balance threshold',
  method: 'PATCH',
  url: '/api/v1/organization',
  access: { to: 'member', right: 'organization.write' },
  ifMatch: true,
  body: z.strictObject({
    display_name: displayName.nullable().optional(),
    time_zone: timeZone.optional(),
    low_balance_threshold_rub: rublesFrom(nanoRub(0n), thresholdMax).nullable().optional(),
  }),
  answers: { 200: organization },
} as const satisfies Contract
