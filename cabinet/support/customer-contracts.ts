import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { askedTime, id, pathId, time } from '../api/fields.ts'
import { cursorOf, newestFirstCursor, pageLimit, pageOf } from '../api/page.ts'
import { getBalance, listLedger } from '../billing/ledger-contracts.ts'
import { organizationBudget } from '../billing/organization-budget.ts'
import { getRequest, listRequests } from '../billing/request-contracts.ts'
import { rubles } from '../billing/rubles.ts'
import { listKeys, listRefusals } from '../keys/key-contracts.ts'
import { autoTopUp } from '../payments/auto-top-up-contracts.ts'
import { adminListPayments } from '../payments/payment-contracts.ts'
import { administrator, organization, organizationPath, reason, user } from './administration-contracts.ts'

const searchTextMax = 200

const ledgerEntry = z.object({
  organization_id: id,
  created_at: time,
  kind: z.string(),
  ref_id: id,
  amount_rub: rubles,
  balance_after_rub: rubles,
})

const email = z
  .object({
    id,
    kind: z.string(),
    recipient: z.string(),
    created_at: time,
    tries: z.int(),
    sent_at: time.nullable().meta({ description: 'When the mail server accepted it.' }),
    gave_up_at: time.nullable(),
    last_error: z.string().nullable().meta({ description: 'A code, without the text of the mail server.' }),
  })
  .meta({ id: 'SentEmail' })

const foundKey = z
  .object({
    id,
    name: z.string(),
    secret_hint: z.string(),
    organization_id: id,
    organization_name: z.string(),
    revoked_at: time.nullable(),
  })
  .meta({ id: 'FoundKey' })

/** Everything that one text leads to. Empty lists: nothing. */
const found = z.object({
  by: z.enum(['id', 'email', 'key', 'name']).meta({ description: 'What the text was taken for.' }),
  is_archive_away: z.boolean().meta({
    description: 'Older requests could not be searched, since their archive did not answer.',
  }),
  receipts: z.array(getRequest.answers[200].extend({ organization_id: id, organization_name: z.string() })),
  rejections: z
    .array(
      listRefusals.answers[200].shape.data.element.extend({
        organization_id: id,
        organization_name: z.string(),
      }),
    )
    .meta({
      description:
        'A rejected request, if its organization has had fewer than 100 since and is among the 2,000 that were rejected soonest after it.',
    }),
  payments: z.array(adminListPayments.answers[200].shape.data.element),
  ledger: z.array(ledgerEntry).meta({ description: 'Entries of the request, payment or refund.' }),
  keys: z.array(foundKey),
  users: z.array(user),
  organizations: z.array(organization),
  emails: z.array(email).meta({ description: 'Emails to the address, newest first.' }),
})

export const searchCustomers = {
  operation: 'adminSearch',
  summary:
    'Find a request, payment, key, user or organization by its id, name, address or visible part; audited',
  method: 'POST', // an address or a pasted secret belongs in no URL
  url: '/api/v1/admin/search',
  access: administrator,
  body: z.strictObject({
    text: storable(
      z
        .string()
        .trim()
        .min(1)
        .max(searchTextMax, { error: `must have at most ${searchTextMax} characters` }),
    ).meta({
      description: 'An id, an email address, `sk-gateway-07Ab…wxyz`, or the beginning of a name.',
    }),
  }),
  answers: { 200: found },
} as const satisfies Contract

export const readCustomer = {
  operation: 'adminReadOrganization',
  summary: 'Read an organization and its members; audited',
  method: 'GET',
  url: '/api/v1/admin/organizations/:organization_id',
  access: administrator,
  params: organizationPath,
  answers: {
    200: z.object({
      organization,
      members: z.array(user),
      budgets: z.array(organizationBudget),
      auto_top_up: autoTopUp,
    }),
  },
} as const satisfies Contract

const timelineEvent = z
  .object({
    at: time,
    kind: z.enum(['sign_up', 'consent', 'payment', 'refund', 'ledger', 'change', 'email']),
    id: z.string(),
    facts: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What the kind has: amounts in rubles, addresses, an action with its reason.' }),
  })
  .meta({ id: 'TimelineEvent' })

export const readTimeline = {
  operation: 'adminReadTimeline',
  summary: 'List what happened to an organization, newest first; audited',
  method: 'GET',
  url: '/api/v1/admin/organizations/:organization_id/timeline',
  access: administrator,
  params: organizationPath,
  query: z.strictObject({
    limit: pageLimit,
    cursor: cursorOf(z.tuple([askedTime({ precision: 6 }), z.string().max(80)])),
  }),
  answers: { 200: pageOf(timelineEvent) },
} as const satisfies Contract

export const listCustomerEmails = {
  operation: 'adminListEmails',
  summary: "List emails to an organization's members and its invitations, newest first; audited",
  method: 'GET',
  url: '/api/v1/admin/organizations/:organization_id/emails',
  access: administrator,
  params: organizationPath,
  query: z.strictObject({ limit: pageLimit, cursor: newestFirstCursor }),
  answers: { 200: pageOf(email) },
} as const satisfies Contract

export const resendCustomerEmail = {
  operation: 'adminResendEmail',
  summary:
    'Write an email again: a confirmation, reset link, invitation or payment notice, with current values',
  method: 'POST',
  url: '/api/v1/admin/organizations/:organization_id/emails/:email_id/resend',
  access: administrator,
  params: organizationPath.extend({ email_id: pathId }),
  body: reason,
  answers: { 204: 'nothing' },
  problems: ['email_still_waiting', 'email_outdated', 'email_not_repeatable', 'too_many_emails'],
} as const satisfies Contract

/** The same as for members, for any organization. Each call is audited. */
export const readCustomerBalance = {
  ...getBalance,
  operation: 'adminReadBalance',
  summary: "Read an organization's balance; audited",
  url: '/api/v1/admin/organizations/:organization_id/balance',
  access: administrator,
  params: organizationPath,
} as const satisfies Contract

export const listCustomerKeys = {
  ...listKeys,
  operation: 'adminListKeys',
  summary: "List an organization's keys, newest first; audited",
  url: '/api/v1/admin/organizations/:organization_id/keys',
  access: administrator,
  params: organizationPath,
} as const satisfies Contract

export const listCustomerRefusals = {
  ...listRefusals,
  operation: 'adminListRefusals',
  summary: "List an organization's last rejected requests; audited",
  url: '/api/v1/admin/organizations/:organization_id/refusals',
  access: administrator,
  params: organizationPath,
} as const satisfies Contract

export const listCustomerRequests = {
  ...listRequests,
  operation: 'adminListRequests',
  summary: "List an organization's settled requests, newest first; audited",
  url: '/api/v1/admin/organizations/:organization_id/requests',
  access: administrator,
  params: organizationPath,
} as const satisfies Contract

export const readCustomerRequest = {
  ...getRequest,
  operation: 'adminReadRequest',
  summary: 'Read the receipt of a settled request; audited',
  url: '/api/v1/admin/organizations/:organization_id/requests/:request_id',
  access: administrator,
  params: organizationPath.extend({ request_id: pathId }),
} as const satisfies Contract

export const listCustomerLedger = {
  ...listLedger,
  operation: 'adminListLedger',
  summary: "List an organization's ledger entries, newest first; audited",
  url: '/api/v1/admin/organizations/:organization_id/ledger',
  access: administrator,
  params: organizationPath,
} as const satisfies Contract
