import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Locale } from '../../api/access.ts'
import { type Endpoint, endpoint, type Input } from '../../api/endpoint.ts'
import { notFound, type Problem } from '../../api/problem.ts'
import { mayStrangersWrite } from '../../mail/outbox.ts'
import * as contracts from '../team-contracts.ts'
import * as store from './invitation-store.ts'
import { findRole, lockTeam, membersMax, readMembers } from './member-store.ts'
import { writeInvitation } from './write-invitation.ts'

/** Endpoints for the invitations that an organization sends. */
export function invitationEndpoints({
  pool,
  appUrl,
}: {
  readonly pool: Pool
  readonly appUrl: string
}): readonly Endpoint[] {
  return [
    endpoint(contracts.listInvitations, async ({ caller: { organizationId } }) => {
      const invitations = await inReadScope(pool, organizationId, (client) =>
        store.readInvitations(client, organizationId),
      )
      return { status: 200, body: { data: invitations.map(shownInvitation) } }
    }),
    endpoint(contracts.invite, async (input) => {
      const { caller, visit } = input
      const scope = scopeOfPerson(caller.userId, caller.organizationId, visit)
      return inScope(pool, scope, (client) => invite(client, appUrl, input))
    }),
    endpoint(contracts.revokeInvitation, async ({ caller, params: { invitation_id: id }, visit }) => {
      if (!isId(id)) return notFound
      const { userId, organizationId } = caller
      const isRevoked = await inScope(pool, scopeOfPerson(userId, organizationId, visit), async (client) => {
        await lockTeam(client, organizationId)
        return store.revokeInvitation(client, organizationId, id, 'organization.revoke_invitation')
      })
      return isRevoked ? { status: 204 } : notFound
    }),
  ]
}

async function invite(
  client: ScopedClient,
  appUrl: string,
  { caller, body: { email, role }, visit }: Input<typeof contracts.invite>,
) {
  const { organizationId, userId: senderId } = caller
  await lockTeam(client, organizationId)
  // Removed, or another role, since the call began.
  if ((await findRole(client, organizationId, senderId)) !== 'owner') return failed('forbidden')
  const members = await readMembers(client, organizationId)
  if (members.some((member) => member.email.toLowerCase() === email.toLowerCase()))
    return refusedAddress('already_member', visit.locale)
  const { pending, sentToday } = await store.countInvitations(client, organizationId)
  if (pending >= store.pendingMax || sentToday >= store.dailyMax) return failed('too_many_invitations')
  if (members.length + pending >= membersMax) return failed('too_many_members')
  const id = await store.addInvitation(client, { organizationId, email, role, senderId })
  if (id === undefined) return refusedAddress('already_invited', visit.locale)
  const made = (await store.readInvitations(client, organizationId)).find((each) => each.id === id)
  if (made === undefined) throw new Error(`invitation ${id} disappeared`)
  // A mailbox that already got its emails of this hour gets none. The invitation is in the cabinet all the same.
  if (await mayStrangersWrite(client, email)) await writeInvitation(client, appUrl, made, visit.locale)
  return { status: 201, body: shownInvitation(made) } as const
}

function failed(code: 'forbidden' | 'too_many_invitations' | 'too_many_members') {
  return { problem: { code } } as const
}

const refusals = {
  already_member: {
    en: 'This address belongs to a member of the organization.',
    ru: 'Пользователь с этим адресом уже состоит в организации.',
  },
  already_invited: {
    en: 'This address has already been invited. Revoke that invitation to send another one.',
    ru: 'На этот адрес уже отправлено приглашение. Чтобы отправить новое, отзовите прежнее.',
  },
} as const

function refusedAddress(code: keyof typeof refusals, locale: Locale): { readonly problem: Problem } {
  const errors = [{ path: 'email', code, message: refusals[code][locale] }]
  return { problem: { code: 'validation_failed', errors } }
}

function shownInvitation({ id, email, role, sender, createdAt, expiresAt }: store.Invitation) {
  return {
    id,
    email,
    role,
    invited_by: sender,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}
