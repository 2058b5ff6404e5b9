import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Person } from '../../api/access.ts'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import { notFound, type Problem } from '../../api/problem.ts'
import { acceptInvitation, declineInvitation, listReceivedInvitations } from '../team-contracts.ts'
import * as store from './invitation-store.ts'
import {
  addMember,
  lockTeam,
  membersMax,
  noteForeignInvitation,
  noteRejection,
  readMembers,
} from './member-store.ts'

/** Memberships of a user, who chooses among them in one list. */
const organizationsMax = 50

/** Endpoints for the invitations that a user has received. */
export function receivedEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(listReceivedInvitations, async ({ caller: { email, isConfirmed } }) => {
      const received = isConfirmed
        ? await inReadScope(pool, null, (client) => store.readReceived(client, email))
        : []
      return { status: 200, body: { data: received.map(shownReceived) } }
    }),
    endpoint(acceptInvitation, ({ caller, params: { invitation_id }, visit }) =>
      answer(pool, { caller, visit }, invitation_id, (client, found) => accept(client, caller, found)),
    ),
    endpoint(declineInvitation, ({ caller, params: { invitation_id }, visit }) =>
      answer(pool, { caller, visit }, invitation_id, decline),
    ),
  ]
}

type Found = { readonly id: string; readonly membershipCount: number }
type Call = { readonly caller: Person; readonly visit: Visit }
type Failed = { readonly problem: Problem }

const notValid = { problem: { code: 'invitation_not_valid' } } as const satisfies Failed

/** Answers an invitation to the caller's address. A rejected attempt is audited for the organization. */
async function answer<Answer extends object>(
  pool: Pool,
  { caller, visit }: Call,
  id: string,
  work: (client: ScopedClient, found: Found) => Promise<Answer | Failed>,
): Promise<Answer | Failed> {
  if (!isId(id)) return notFound
  const found = await inReadScope(pool, null, (client) => store.findInvitation(client, id, caller))
  if (found === undefined) return notFound
  const { userId, isConfirmed } = caller
  const { organizationId, isForAddress, membershipCount } = found
  const note = { invitationId: id, userId }
  // Strangers neither learn of an invitation nor write into its organization's part of the audit log.
  if (!isForAddress) {
    await inScope(pool, scopeOfPerson(userId, null, visit), (client) =>
      noteForeignInvitation(client, organizationId, note),
    )
    return notFound
  }
  if (!isConfirmed) return failed('email_not_verified')
  return inScope(pool, scopeOfPerson(userId, organizationId, visit), async (client) => {
    await lockTeam(client, organizationId)
    const answered = await work(client, { id, membershipCount })
    if ('problem' in answered)
      await noteRejection(client, 'organization.reject_invitation', organizationId, {
        ...note,
        why: answered.problem.code,
      })
    return answered
  })
}

async function accept(client: ScopedClient, { userId }: Person, { id, membershipCount }: Found) {
  const invitation = await store.holdInvitation(client, id)
  if (invitation === undefined || !invitation.isPending || !invitation.isSenderOwner) return notValid
  const { organizationId, role } = invitation
  const members = await readMembers(client, organizationId)
  if (members.some((member) => member.userId === userId)) return failed('conflict')
  if (members.length >= membersMax) return failed('too_many_members')
  if (membershipCount >= organizationsMax) return failed('too_many_organizations')
  await store.spendInvitation(client, id)
  await addMember(client, { organizationId, userId, role }, id)
  return { status: 200, body: { organization_id: organizationId, role } } as const
}

async function decline(client: ScopedClient, { id }: Found) {
  const invitation = await store.holdInvitation(client, id)
  if (invitation === undefined) return notFound
  const { organizationId } = invitation
  const isDeclined = await store.revokeInvitation(
    client,
    organizationId,
    id,
    'organization.decline_invitation',
  )
  return isDeclined ? ({ status: 204 } as const) : notValid
}

function failed(code: 'email_not_verified' | 'conflict' | 'too_many_members' | 'too_many_organizations') {
  return { problem: { code } } as const
}

function shownReceived(invitation: store.ReceivedInvitation) {
  const { id, organizationId, name, displayName, role, sender, expiresAt } = invitation
  return {
    id,
    organization: { id: organizationId, name, display_name: displayName },
    role,
    invited_by: sender,
    expires_at: expiresAt.toISOString(),
  }
}
