import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { countKeysByCreator } from '#core/keys/key-state'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
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
  setKeyLimit,
  setMonthlyBudget,
  setRole,
} from './member-store.ts'

/** Endpoints for the members of an organization. */
export function memberEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(listMembers, async ({ caller }) => {
      const data = await showMembers(pool, caller)
      return { status: 200, body: { data } }
    }),
    endpoint(changeMember, async ({ caller, params: { user_id }, body, visit }) => {
      const failed = await changeTeam(pool, { caller, visit }, user_id, body)
      if (failed !== undefined) return failed
      const members = await showMembers(pool, caller)
      const changed = members.find((member) => member.user_id === user_id.toLowerCase())
      return changed === undefined ? notFound : { status: 200, body: changed }
    }),
    endpoint(removeMember, async ({ caller, params: { user_id }, visit }) => {
      return (await changeTeam(pool, { caller, visit }, user_id, { role: 'none' })) ?? { status: 204 }
    }),
    endpoint(leaveOrganization, async ({ caller, visit }) => {
      return (await changeTeam(pool, { caller, visit }, caller.userId, { role: 'none' })) ?? { status: 204 }
    }),
  ]
}

type Call = { readonly caller: Member; readonly visit: Visit }
type Failed = { readonly problem: Problem }

const lastOwner = { problem: { code: 'last_owner' } } as const satisfies Failed

/** `none` removes the member. Omitted fields do not change. */
type MemberChange = {
  readonly role?: MemberRole | 'none' | undefined
  readonly keys_max?: number | null | undefined
  readonly monthly_budget_rub?: NanoRub | null | undefined
}

/** Changes a member. A rejected attempt is audited. */
async function changeTeam(
  pool: Pool,
  { caller: { userId: actorId, organizationId }, visit }: Call,
  memberId: string,
  { role: after, keys_max, monthly_budget_rub }: MemberChange,
): Promise<Failed | undefined> {
  if (!isId(memberId)) return notFound
  const userId = memberId.toLowerCase()
  const scope = scopeOfPerson(actorId, organizationId, visit)
  return inScope(pool, scope, async (client) => {
    await lockTeam(client, organizationId)
    if (!(await mayStill(client, organizationId, actorId, userId, after)))
      return { problem: { code: 'forbidden' } } satisfies Failed
    const role = await findRole(client, organizationId, userId)
    if (role === undefined) return notFound
    const membership = { organizationId, userId, role }
    const failed = after === undefined ? undefined : await changeRole(client, membership, after)
    if (failed !== undefined) return failed
    if (keys_max !== undefined) await setKeyLimit(client, membership, keys_max)
    if (monthly_budget_rub !== undefined) await setMonthlyBudget(client, membership, monthly_budget_rub)
    return undefined
  })
}

async function changeRole(
  client: ScopedClient,
  membership: Parameters<typeof setRole>[1],
  after: MemberRole | 'none',
): Promise<Failed | undefined> {
  const { organizationId, userId, role } = membership
  if (role === after) return undefined
  if (await isLastOwner(client, organizationId, userId)) {
    await noteRejection(client, 'organization.keep_last_owner', organizationId, { userId, asked: after })
    return lastOwner
  }
  if (after === 'none') await deleteMember(client, membership)
  else await setRole(client, membership, after)
  if (role === 'owner') await revokeSentBy(client, organizationId, userId)
  return undefined
}

/** Of two owners who remove each other at the same time, only one does: the other is no owner by then. */
async function mayStill(
  client: ScopedClient,
  organizationId: string,
  actorId: string,
  userId: string,
  after: MemberRole | 'none' | undefined,
): Promise<boolean> {
  const isLeaving = actorId === userId && after === 'none'
  return isLeaving || (await findRole(client, organizationId, actorId)) === 'owner'
}

async function showMembers(pool: Pool, { organizationId, userId: callerId }: Member): Promise<ShownMember[]> {
  return inReadScope(pool, organizationId, async (client) => {
    const members = await readMembers(client, organizationId)
    const keyCounts = await countKeysByCreator(client, organizationId)
    return members.map(({ userId, email, role, joinedAt, keysMax, monthlyBudgetNano, spentNano }) => ({
      user_id: userId,
      email,
      role,
      joined_at: joinedAt.toISOString(),
      key_count: keyCounts.get(userId) ?? 0,
      keys_max: keysMax,
      monthly_budget_rub: rubOrNull(monthlyBudgetNano),
      spent_this_month_rub: rubOrNull(spentNano),
      is_you: userId === callerId,
    }))
  })
}

function rubOrNull(nano: bigint | null): string | null {
  return nano === null ? null : formatRub(nanoRub(nano))
}
