import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { exportThrottle } from '../api/csv-rows.ts'
import { askedTime, id, time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { listLegalDocuments } from './legal-contracts.ts'
import { legalKinds } from './legal-version.ts'

const administrator = { to: 'administrator' } as const
const kind = z.enum(legalKinds)

/** Longer than any offer; Postgres refuses more, too. */
const text = storable(z.string().trim().min(1).max(100_000))

export const adminListLegalDocuments = {
  operation: 'adminListLegalDocuments',
  summary: 'List all versions of the legal documents, newest first',
  method: 'GET',
  url: '/api/v1/admin/legal/documents',
  access: administrator,
  answers: listLegalDocuments.answers,
} as const satisfies Contract

export const adminPublishLegalDocument = {
  operation: 'adminPublishLegalDocument',
  summary: 'Publish a version of a legal document in both languages; it takes effect on its day',
  method: 'POST',
  url: '/api/v1/admin/legal/documents',
  access: administrator,
  body: z.strictObject({
    kind,
    version: z.iso
      .date()
      .regex(/^2/)
      .meta({ description: 'The day on which it takes effect, in Moscow: today or later.' }),
    texts: z
      .strictObject({ ru: text, en: text })
      .meta({ description: 'Markdown. It cannot be changed later.' }),
    reason: storable(z.string().trim().min(3).max(500)),
  }),
  // Two texts of the longest, as JSON.
  bodyBytesMax: 1024 * 1024,
  answers: {
    201: z.object({
      kind,
      version: z.string(),
      sha256: z.object({ ru: z.string(), en: z.string() }),
    }),
  },
} as const satisfies Contract

const consentFilter = {
  user_id: id.optional(),
  kind: kind.optional(),
  version: storable(z.string().max(10)).optional(),
  from: askedTime().optional(),
  to: askedTime().optional(),
}

const consent = z
  .object({
    id: z.string(),
    at: time,
    user_id: id,
    email: z.string(),
    kind,
    version: z.string(),
    locale: z.enum(['ru', 'en']),
    sha256: z.string(),
    withdrawn: z.boolean(),
    address: z.string(),
    agent: z.string(),
  })
  .meta({ id: 'AdminConsent' })

export const adminListConsents = {
  operation: 'adminListConsents',
  summary: 'List consents and withdrawals of all users, newest first',
  method: 'GET',
  url: '/api/v1/admin/consents',
  access: administrator,
  query: z.strictObject({
    ...consentFilter,
    limit: pageLimit,
    cursor: cursorOf(z.string().regex(/^\d{1,18}$/)),
  }),
  answers: { 200: pageOf(consent) },
} as const satisfies Contract

export const adminExportConsents = {
  operation: 'adminExportConsents',
  summary: 'Export consents and withdrawals as CSV, newest first',
  method: 'GET',
  url: '/api/v1/admin/consents.csv',
  access: administrator,
  query: z.strictObject(consentFilter),
  answers: { 200: 'csv' },
  throttle: exportThrottle,
} as const satisfies Contract
