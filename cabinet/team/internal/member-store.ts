import type { Facts } from '#core/audit/audit-log'
import { changeOfOrganization } from '#core/audit/organization-change'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { formatRub, type NanoRub } from '#core/ledger/money'
import type { MemberRole } from '../../api/access.ts'

/** Members of an organization, and invitations that may become members. Lists of members are not paged. */
export const membersMax = 100

/** A member of an organization. */
export type TeamMember = {
  readonly userId: string
  readonly email: string
  readonly role: MemberRole
  readonly joinedAt: Date
  /** Keys of the member that may exist at a time; `null`: no limit for this member. */
  readonly keysMax: number | null
  /** For all keys that the member created; `null`: no limit. */
  readonly monthlyBudgetNano: bigint | null
  /** Posted of these keys this month; `null` without a budget. */
  readonly spentNano: bigint | null
}

/**
 * Serializes changes of an organization's members and invitations until the transaction ends. Call it first: what is
 * read after it cannot change.
 */
export async function lockTeam(client: ScopedClient, organizationId: string): Promise<void> {
  await client.query('select from organizations where id = $1 for no key update', [organizationId])
}

/** Members of an organization, oldest membership first. */
export async function readMembers(client: Queryable, organizationId: string): Promise<readonly TeamMember[]> {
  const { rows } = await client.query<TeamMember>(
    `select u.id as "userId", u.email, m.role, m.created_at as "joinedAt", m.keys_max as "keysMax",
            m.monthly_budget_nano as "monthlyBudgetNano",
            case when m.monthly_budget_nano is not null then
              (select coalesce(sum(s.amount), 0)::bigint
                 from api_keys k join key_daily_spend s on s.key_id = k.id
                where k.organization_id = m.organization_id and k.created_by = m.user_id
                  and s.day >= date_trunc('month', now() at time zone o.time_zone)::date
                  and s.day < date_trunc('month', now() at time zone o.time_zone)::date + interval '1 month') end as "spentNano"
       from memberships m join users u on u.id = m.user_id join organizations o on o.id = m.organization_id
      where m.organization_id = $1 order by m.created_at, u.id limit $2`,
    [organizationId, membersMax],
  )
  return rows
}

/** The role of a user in an organization; `undefined`: not a member. */
export async function findRole(
  client: Queryable,
  organizationId: string,
  userId: string,
): Promise<MemberRole | undefined> {
  const { rows } = await client.query<{ role: MemberRole }>(
    'select role from memberships where organization_id = $1 and user_id = $2',
    [organizationId, userId],
  )
  return rows[0]?.role
}

/** Whether a member is the organization's only owner. Only after `lockTeam` does the answer last. */
export async function isLastOwner(
  client: ScopedClient,
  organizationId: string,
  userId: string,
): Promise<boolean> {
  const { rows } = await client.query<{ userId: string }>(
    `select user_id as "userId" from memberships where organization_id = $1 and role = 'owner' limit 2`,
    [organizationId],
  )
  return rows.length === 1 && rows[0]?.userId === userId
}

type Membership = { readonly organizationId: string; readonly userId: string; readonly role: MemberRole }

/** Adds a member, for whom new browser tabs open this organization. */
export async function addMember(
  client: ScopedClient,
  { organizationId, userId, role }: Membership,
  invitationId: string,
): Promise<void> {
  await client.change(
    `insert into memberships (organization_id, user_id, role, chosen_at)
     values ($1, $2, $3, clock_timestamp())`,
    [organizationId, userId, role],
    () =>
      changeOfOrganization('organization.add_member', organizationId, null, { userId, role, invitationId }),
  )
}

/** Gives a member another role. */
export async function setRole(
  client: ScopedClient,
  { organizationId, userId, role }: Membership,
  after: MemberRole,
): Promise<void> {
  await client.change(
    'update memberships set role = $3 where organization_id = $1 and user_id = $2',
    [organizationId, userId, after],
    () =>
      changeOfOrganization(
        'organization.change_member',
        organizationId,
        { userId, role },
        { userId, role: after },
      ),
  )
}

/** Limits how many keys a member may create. */
export async function setKeyLimit(
  client: ScopedClient,
  { organizationId, userId }: Pick<Membership, 'organizationId' | 'userId'>,
  keysMax: number | null,
): Promise<void> {
  await client.change(
    `update memberships set keys_max = $3
      where organization_id = $1 and user_id = $2 and keys_max is distinct from $3 returning user_id`,
    [organizationId, userId, keysMax],
    () => changeOfOrganization('organization.limit_member', organizationId, null, { userId, keysMax }),
  )
}

/** Limits what the keys that a member created may spend in a month, those that exist and later ones. */
export async function setMonthlyBudget(
  client: ScopedClient,
  { organizationId, userId }: Pick<Membership, 'organizationId' | 'userId'>,
  budgetNano: NanoRub | null,
): Promise<void> {
  await client.change(
    `update memberships set monthly_budget_nano = $3
      where organization_id = $1 and user_id = $2 and monthly_budget_nano is distinct from $3 returning user_id`,
    [organizationId, userId, budgetNano],
    () =>
      changeOfOrganization('organization.limit_member', organizationId, null, {
        userId,
        monthlyBudgetRub: budgetNano === null ? null : formatRub(budgetNano),
      }),
  )
}

export async function deleteMember(
  client: ScopedClient,
  { organizationId, userId, role }: Membership,
): Promise<void> {
  await client.change(
    'delete from memberships where organization_id = $1 and user_id = $2',
    [organizationId, userId],
    () => changeOfOrganization('organization.remove_member', organizationId, { userId, role }, null),
  )
}

/** Audits a rejected change. */
export async function noteRejection(
  client: ScopedClient,
  action: 'organization.keep_last_owner' | 'organization.reject_invitation',
  organizationId: string,
  facts: Facts,
): Promise<void> {
  await client.change('select', [], () => changeOfOrganization(action, organizationId, null, facts))
}

/** Audits that a user tried an invitation to another address. Requires the platform's scope. */
export async function noteForeignInvitation(
  client: ScopedClient,
  organizationId: string,
  facts: Facts,
): Promise<void> {
  const after = { ...facts, why: 'other_address' }
  await client.change('select', [], () => ({
    ...changeOfOrganization('organization.reject_invitation', organizationId, null, after),
    organizationId: null,
  }))
}
