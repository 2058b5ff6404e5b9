import { randomUUID } from 'node:crypto'
import { changeOfOrganization } from '#core/audit/organization-change'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { MemberRole } from '../../api/access.ts'

const lifetimeDays = 7
/** Expired invitations contain addresses of people who never registered, and are of no use after a month. */
const keptDays = 30
/** Invitations of an organization that can be accepted now. */
export const pendingMax = 20
/** Invitations that an organization may send in 24 hours: each is an email to an address of its choice. */
export const dailyMax = 50

/** An invitation that can be accepted unless it has expired. */
export type Invitation = {
  readonly id: string
  readonly organizationId: string
  readonly email: string
  readonly role: MemberRole
  readonly sender: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

const columns = `i.id, i.organization_id as "organizationId", i.email, i.role, s.email as sender,
  i.created_at as "createdAt", i.expires_at as "expiresAt"`
const pending = `i.accepted_at is null and i.revoked_at is null and i.expires_at > clock_timestamp()`

/** Invitations of an organization that can be accepted, newest first. */
export async function readInvitations(
  client: Queryable,
  organizationId: string,
): Promise<readonly Invitation[]> {
  const { rows } = await client.query<Invitation>(
    `select ${columns} from invitations i join users s on s.id = i.invited_by
      where i.organization_id = $1 and ${pending} order by i.created_at desc, i.id limit $2`,
    [organizationId, pendingMax],
  )
  return rows
}

/** An invitation of an organization, if it can be accepted. */
export async function findPendingInvitation(
  client: Queryable,
  organizationId: string,
  id: string,
): Promise<Invitation | undefined> {
  const { rows } = await client.query<Invitation>(
    `select ${columns} from invitations i join users s on s.id = i.invited_by
      where i.organization_id = $1 and i.id = $2 and ${pending}`,
    [organizationId, id],
  )
  return rows[0]
}

export type ReceivedInvitation = Invitation & {
  readonly name: string
  readonly displayName: string | null
}

/** Longer lists would only be noise. */
const receivedMax = 20

/** Invitations to an address that can be accepted, newest first. Requires the platform's scope. */
export async function readReceived(client: Queryable, email: string): Promise<readonly ReceivedInvitation[]> {
  const { rows } = await client.query<ReceivedInvitation>(
    `select ${columns}, o.name, o.display_name as "displayName"
       from invitations i join users s on s.id = i.invited_by join organizations o on o.id = i.organization_id
      where lower(i.email) = lower($1) and ${pending} order by i.created_at desc, i.id limit $2`,
    [email, receivedMax],
  )
  return rows
}

/** How many invitations an organization has that can be accepted, and how many it has sent in the last 24 hours. */
export async function countInvitations(
  client: ScopedClient,
  organizationId: string,
): Promise<{ readonly pending: number; readonly sentToday: number }> {
  const { rows } = await client.query<{ pending: number; sentToday: number }>(
    `select count(*) filter (where ${pending})::int as pending,
            count(*) filter (where i.created_at > clock_timestamp() - interval '24 hours')::int as "sentToday"
       from invitations i where i.organization_id = $1`,
    [organizationId],
  )
  return rows[0] ?? { pending: 0, sentToday: 0 }
}

/** Adds an invitation. `undefined`: the address has one that can be accepted. */
export async function addInvitation(
  client: ScopedClient,
  {
    organizationId,
    email,
    role,
    senderId,
  }: {
    readonly organizationId: string
    readonly email: string
    readonly role: MemberRole
    readonly senderId: string
  },
): Promise<string | undefined> {
  const id = randomUUID()
  await removeExpired(client, organizationId, email)
  const made = await client.change<{ id: string }>(
    `insert into invitations (id, organization_id, email, role, invited_by, expires_at)
     values ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(days => $6))
     on conflict do nothing returning id`,
    [id, organizationId, email, role, senderId, lifetimeDays],
    () => changeOfOrganization('organization.invite', organizationId, null, { invitationId: id, role }),
  )
  return made[0]?.id
}

/** An expired invitation makes room for another to its address, and is deleted after a month. */
async function removeExpired(client: ScopedClient, organizationId: string, email: string): Promise<void> {
  await client.withoutAudit(
    'an expired invitation grants nothing',
    `update invitations set revoked_at = clock_timestamp()
      where organization_id = $1 and lower(email) = lower($2) and accepted_at is null and revoked_at is null
        and expires_at <= clock_timestamp()`,
    [organizationId, email],
  )
  await client.withoutAudit(
    'who joined is audited',
    `delete from invitations where organization_id = $1 and expires_at < clock_timestamp() - make_interval(days => $2)`,
    [organizationId, keptDays],
  )
}

/** What a recipient's call has to decide about. */
export type HeldInvitation = {
  readonly organizationId: string
  readonly role: MemberRole
  readonly isPending: boolean
  readonly isSenderOwner: boolean
}

type FoundInvitation = {
  readonly organizationId: string
  readonly isForAddress: boolean
  /** How many organizations the user has. */
  readonly membershipCount: number
}

/**
 * The organization of an invitation, and whether it is for the address of this user. Requires the platform's scope,
 * because the organization is only known after this query.
 */
export async function findInvitation(
  client: Queryable,
  id: string,
  { userId, email }: { readonly userId: string; readonly email: string },
): Promise<FoundInvitation | undefined> {
  const { rows } = await client.query<FoundInvitation>(
    `select organization_id as "organizationId", lower(email) = lower($3) as "isForAddress",
            (select count(*)::int from memberships where user_id = $2) as "membershipCount"
       from invitations where id = $1`,
    [id, userId, email],
  )
  return rows[0]
}

/** An invitation as it is now, after `lockTeam` also until the transaction ends. */
export async function holdInvitation(client: ScopedClient, id: string): Promise<HeldInvitation | undefined> {
  const { rows } = await client.query<HeldInvitation>(
    `select i.organization_id as "organizationId", i.role, ${pending} as "isPending",
            exists (select from memberships m where m.organization_id = i.organization_id
                       and m.user_id = i.invited_by and m.role = 'owner') as "isSenderOwner"
       from invitations i where i.id = $1 for update of i`,
    [id],
  )
  return rows[0]
}

/** Uses up an invitation. */
export async function spendInvitation(client: ScopedClient, id: string): Promise<void> {
  await client.withoutAudit(
    'the new member is audited',
    'update invitations set accepted_at = clock_timestamp() where id = $1',
    [id],
  )
}

/** Revokes an invitation of an organization unless it is used up. Returns whether this call revoked it. */
export async function revokeInvitation(
  client: ScopedClient,
  organizationId: string,
  id: string,
  action: 'organization.revoke_invitation' | 'organization.decline_invitation',
): Promise<boolean> {
  const revoked = await client.change<{ id: string }>(
    `update invitations i set revoked_at = clock_timestamp()
      where i.organization_id = $1 and i.id = $2 and ${pending} returning i.id`,
    [organizationId, id],
    () => changeOfOrganization(action, organizationId, { invitationId: id }, null),
  )
  return revoked.length === 1
}

/** Revokes the invitations that a member sent. */
export async function revokeSentBy(
  client: ScopedClient,
  organizationId: string,
  senderId: string,
): Promise<void> {
  await client.change<{ id: string }>(
    `update invitations set revoked_at = clock_timestamp()
      where organization_id = $1 and invited_by = $2 and accepted_at is null and revoked_at is null returning id`,
    [organizationId, senderId],
    (rows) =>
      changeOfOrganization(
        'organization.revoke_invitations',
        organizationId,
        { sender: senderId, invitationIds: rows.map(({ id }) => id) },
        null,
      ),
  )
}
