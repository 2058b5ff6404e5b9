import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Member, MemberRole } from '../../api/access.ts'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import { notFound, type Problem } from '../../api/problem.ts'
import {
  changeMember,
  leaveOrganization,
  listMembers,
  removeMember,
  type ShownMember,
} from '../team-contracts.ts'
import { revokeSentBy } from './invitation-store.ts'
import {
  deleteMember,
  findRole,
  isLastOwner,
  lockTeam,
  noteRejection,
  readMembers,
  setRole,
  type TeamMember,
} from './member-store.ts'

/** Endpoints for the members of an organization. */
export function memberEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(listMembers, async ({ caller: { organizationId, userId } }) => {
      const members = await inReadScope(pool, organizationId, (client) => readMembers(client, organizationId))
      return { status: 200, body: { data: members.map((member) => shownMember(member, userId)) } }
    }),
    endpoint(changeMember, async ({ caller, params: { user_id }, body: { role }, visit }) => {
      const failed = await changeTeam(pool, { caller, visit }, user_id, role)
      if (failed !== undefined) return failed
      const { organizationId, userId } = caller
      const members = await inReadScope(pool, organizationId, (client) => readMembers(client, organizationId))
      const changed = members.find((member) => member.userId === user_id.toLowerCase())
      return changed === undefined ? notFound : { status: 200, body: shownMember(changed, userId) }
    }),
    endpoint(removeMember, async ({ caller, params: { user_id }, visit }) => {
      return (await changeTeam(pool, { caller, visit }, user_id, 'none')) ?? { status: 204 }
    }),
    endpoint(leaveOrganization, async ({ caller, visit }) => {
      return (await changeTeam(pool, { caller, visit }, caller.userId, 'none')) ?? { status: 204 }
    }),
  ]
}

type Call = { readonly caller: Member; readonly visit: Visit }
type Failed = { readonly problem: Problem }

const lastOwner = { problem: { code: 'last_owner' } } as const satisfies Failed

/** Gives a member another role, or with `none` removes them. A rejected attempt is audited. */
async function changeTeam(
  pool: Pool,
  { caller: { userId: actorId, organizationId }, visit }: Call,
  memberId: string,
  after: MemberRole | 'none',
): Promise<Failed | undefined> {
  if (!isId(memberId)) return notFound
  const userId = memberId.toLowerCase()
  const scope = scopeOfPerson(actorId, organizationId, visit.requestId)
  return inScope(pool, scope, async (client) => {
    await lockTeam(client, organizationId)
    if (!(await mayStill(client, organizationId, actorId, userId, after)))
      return { problem: { code: 'forbidden' } } satisfies Failed
    const role = await findRole(client, organizationId, userId)
    if (role === undefined) return notFound
    if (role === after) return undefined
    if (await isLastOwner(client, organizationId, userId)) {
      await noteRejection(client, 'organization.keep_last_owner', organizationId, { userId, asked: after })
      return lastOwner
    }
    const membership = { organizationId, userId, role }
    if (after === 'none') await deleteMember(client, membership)
    else await setRole(client, membership, after)
    if (role === 'owner') await revokeSentBy(client, organizationId, userId)
    return undefined
  })
}

/** Of two owners who remove each other at the same time, only one does: the other is no owner by then. */
async function mayStill(
  client: ScopedClient,
  organizationId: string,
  actorId: string,
  userId: string,
  after: MemberRole | 'none',
): Promise<boolean> {
  const isLeaving = actorId === userId && after === 'none'
  return isLeaving || (await findRole(client, organizationId, actorId)) === 'owner'
}

function shownMember({ userId, email, role, joinedAt }: TeamMember, callerId: string): ShownMember {
  return { user_id: userId, email, role, joined_at: joinedAt.toISOString(), is_you: userId === callerId }
}
