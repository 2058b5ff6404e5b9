import { z } from 'zod'
import { nanoRub } from '#core/ledger/money'
import { memberRoles } from '../api/access.ts'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { rubles, rublesFrom } from '../billing/rubles.ts'
import { emailAddress } from '../people/email-address.ts'

const role = z.enum(memberRoles)

/** As many as an organization may have. */
const keysMax = z.int().min(0).max(200).nullable().meta({
  description: 'How many keys of the member may exist at a time; null: no limit for this member.',
})

/** The largest budget is that of a key. */
const monthlyBudget = rublesFrom(nanoRub(1n), nanoRub(999_999_999_999_999_999n)).nullable().meta({
  description: 'The most that the keys which the member created may spend in a month; null: no limit.',
})

const member = z.object({
  user_id: id,
  email: z.string(),
  role,
  joined_at: time,
  key_count: z.int().meta({ description: 'Keys that the member created and that are not revoked.' }),
  keys_max: keysMax,
  monthly_budget_rub: rubles.nullable().meta({
    description:
      'The most that the keys which the member created may spend in a calendar month of the organization. When the membership ends, each of these keys keeps it as its own monthly budget. null: no limit.',
  }),
  spent_this_month_rub: rubles
    .nullable()
    .meta({ description: 'Charges of these keys posted this month; null without a budget.' }),
  is_you: z.boolean(),
})

export type ShownMember = z.input<typeof member>

const toRead = { to: 'member', right: 'organization.read' } as const
const toWrite = { to: 'member', right: 'team.write' } as const
const aMember = z.strictObject({ user_id: pathId })
const anInvitation = z.strictObject({ invitation_id: pathId })

export const listMembers = {
  operation: 'listMembers',
  summary: "List the organization's members, oldest membership first",
  method: 'GET',
  url: '/api/v1/members',
  access: toRead,
  answers: { 200: z.object({ data: z.array(member) }) },
} as const satisfies Contract

export const changeMember = {
  operation: 'changeMember',
  summary: "Change a member's role, limit of keys or budget; applies to the member's next call",
  method: 'PATCH',
  url: '/api/v1/members/:user_id',
  access: toWrite,
  params: aMember,
  body: z.strictObject({
    role: role.optional(),
    keys_max: keysMax.optional(),
    monthly_budget_rub: monthlyBudget.optional(),
  }),
  answers: { 200: member },
  problems: ['last_owner'],
} as const satisfies Contract

export const removeMember = {
  operation: 'removeMember',
  summary: "Remove a member; the member's next call for the organization is rejected. Keys stay",
  method: 'DELETE',
  url: '/api/v1/members/:user_id',
  access: toWrite,
  params: aMember,
  answers: { 204: 'nothing' },
  problems: ['last_owner'],
} as const satisfies Contract

export const leaveOrganization = {
  operation: 'leaveOrganization',
  summary: 'Leave the organization',
  method: 'DELETE',
  url: '/api/v1/membership',
  access: toRead,
  answers: { 204: 'nothing' },
  problems: ['last_owner'],
} as const satisfies Contract

const invitation = z.object({
  id,
  email: z.string(),
  role,
  invited_by: z.string().meta({ description: "The sender's address." }),
  created_at: time,
  expires_at: time,
})

export const listInvitations = {
  operation: 'listInvitations',
  summary: 'List invitations that can still be accepted, newest first',
  method: 'GET',
  url: '/api/v1/invitations',
  access: toWrite,
  answers: { 200: z.object({ data: z.array(invitation) }) },
} as const satisfies Contract

export const invite = {
  operation: 'invite',
  summary: 'Invite an email address; the invitation is valid for 7 days, once, and only for this address',
  method: 'POST',
  url: '/api/v1/invitations',
  access: { ...toWrite, confirmed: true },
  throttle: { perAddress: 30 },
  body: z.strictObject({ email: emailAddress, role }),
  answers: { 201: invitation },
  problems: ['too_many_invitations', 'too_many_members'],
} as const satisfies Contract

export const revokeInvitation = {
  operation: 'revokeInvitation',
  summary: 'Revoke an invitation',
  method: 'DELETE',
  url: '/api/v1/invitations/:invitation_id',
  access: toWrite,
  params: anInvitation,
  answers: { 204: 'nothing' },
} as const satisfies Contract

const received = z.object({
  id,
  organization: z.object({ id, name: z.string(), display_name: z.string().nullable() }),
  role,
  invited_by: z.string().meta({ description: "The sender's address." }),
  expires_at: time,
})

export const listReceivedInvitations = {
  operation: 'listReceivedInvitations',
  summary: 'List invitations to your confirmed address that can still be accepted, newest first',
  method: 'GET',
  url: '/api/v1/me/invitations',
  access: { to: 'person' },
  answers: { 200: z.object({ data: z.array(received) }) },
} as const satisfies Contract

export const acceptInvitation = {
  operation: 'acceptInvitation',
  summary: 'Accept an invitation to your confirmed address',
  method: 'POST',
  url: '/api/v1/me/invitations/:invitation_id/accept',
  access: { to: 'person' },
  throttle: { perAddress: 60 },
  params: anInvitation,
  answers: { 200: z.object({ organization_id: id, role }) },
  problems: [
    'email_not_verified',
    'invitation_not_valid',
    'conflict',
    'too_many_members',
    'too_many_organizations',
  ],
} as const satisfies Contract

export const declineInvitation = {
  operation: 'declineInvitation',
  summary: 'Decline an invitation to your confirmed address',
  method: 'DELETE',
  url: '/api/v1/me/invitations/:invitation_id',
  access: { to: 'person' },
  params: anInvitation,
  answers: { 204: 'nothing' },
  problems: ['email_not_verified', 'invitation_not_valid'],
} as const satisfies Contract
