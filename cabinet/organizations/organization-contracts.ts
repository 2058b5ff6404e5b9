import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { id } from '../api/fields.ts'
import { nanoRub } from '../ledger/money.ts'
import { roubles, roublesFrom } from '../ledger/roubles.ts'
import { isWholeHourZone } from './internal/time-zone.ts'

/** A milliard roubles: far beyond any balance, and within what a column holds. */
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
    'must be an IANA time zone whose clocks are whole hours off UTC all year, such as Europe/Moscow',
  )

const organization = z.object({
  id,
  name: z
    .string()
    .meta({ description: 'A slug, which never changes: the value of the label in Kubernetes.' }),
  kubectl_label_command: z.string().meta({
    description: 'What a cluster admin runs so that the ApiKeys of a namespace may charge this organization.',
  }),
  display_name: z.string().nullable(),
  time_zone: z.string().meta({ description: 'IANA; days of the usage page begin at its midnight.' }),
  low_balance_threshold_rub: roubles.nullable().meta({
    description: 'A letter is sent once when the balance falls below it; null: none is.',
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
    low_balance_threshold_rub: roublesFrom(nanoRub(0n), thresholdMax).nullable().optional(),
  }),
  answers: { 200: organization },
} as const satisfies Contract
