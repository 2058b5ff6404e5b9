import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import { exactTimeSql } from '#core/db/exact-time'
import type { Queryable } from '#core/db/pool'
import { mailboxOf } from '../../mail/mailbox.ts'

/** The removal of a lost second factor, as it was requested and decided. */
export type TotpReset = {
  readonly id: string
  readonly userId: string
  readonly userEmail: string
  readonly reason: string
  readonly orderedBy: string
  readonly orderedByEmail: string
  readonly orderedAt: Date
  readonly expiresAt: Date
  readonly state: 'pending' | 'scheduled' | 'declined' | 'expired' | 'canceled' | 'done'
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly decisionReason: string | null
  readonly dueAt: Date | null
  readonly endedAt: Date | null
  /** `orderedAt` with microseconds, for cursors. */
  readonly position: string
}

/** How long a request waits for another administrator. */
const waitingTime = '7 days'

const columns = `r.id, r.user_id as "userId", u.email as "userEmail", r.reason, r.ordered_by as "orderedBy",
  a.email as "orderedByEmail", r.ordered_at as "orderedAt", r.expires_at as "expiresAt",
  case when r.state = 'pending' and r.expires_at < clock_timestamp() then 'expired' else r.state end as state,
  r.decided_by as "decidedBy", r.decided_at as "decidedAt", r.decision_reason as "decisionReason", r.due_at as "dueAt",
  r.ended_at as "endedAt", ${exactTimeSql('r.ordered_at')} as position`
const source = 'totp_resets r join users u on u.id = r.user_id join administrators a on a.id = r.ordered_by'

/** Newest first. */
export async function readTotpResets(
  client: Queryable,
  { after, limit }: { readonly after: readonly [string, string] | undefined; readonly limit: number },
): Promise<readonly TotpReset[]> {
  const [at = null, id = null] = after ?? []
  const { rows } = await client.query<TotpReset>(
    `select ${columns} from ${source}
      where $1::timestamptz is null or (r.ordered_at, r.id) < ($1, $2::uuid)
      order by r.ordered_at desc, r.id desc limit $3`,
    [at, id, limit],
  )
  return rows
}

export async function getTotpReset(client: Queryable, id: string): Promise<TotpReset> {
  const { rows } = await client.query<TotpReset>(`select ${columns} from ${source} where r.id = $1`, [id])
  const [reset] = rows
  if (reset === undefined) throw new Error(`reset ${id} does not exist`)
  return reset
}

/** Locks a reset until the transaction ends, so that it is decided once. */
export async function holdTotpReset(client: ScopedClient, id: string): Promise<TotpReset | undefined> {
  const { rows } = await client.query('select from totp_resets where id = $1 for update', [id])
  return rows.length === 0 ? undefined : getTotpReset(client, id)
}

/** A user whose second factor can be removed. */
export async function findTotpUser(
  client: Queryable,
  id: string,
): Promise<{ readonly id: string; readonly email: string; readonly hasTotp: boolean } | undefined> {
  const { rows } = await client.query<{ id: string; email: string; hasTotp: boolean }>(
    'select id, email, totp_enrolled_at is not null as "hasTotp" from users where id = $1',
    [id],
  )
  return rows[0]
}

/** Records a request. `undefined`: one for this user waits already. */
export async function insertTotpReset(
  client: ScopedClient,
  user: { readonly id: string; readonly email: string },
  {
    orderedBy,
    reason,
    state,
  }: { readonly orderedBy: string; readonly reason: string; readonly state: 'pending' | 'scheduled' },
): Promise<string | undefined> {
  const id = randomUUID()
  await client.withoutAudit(
    'a request that has expired is not carried out',
    `update totp_resets set state = 'expired'
      where user_id = $1 and state = 'pending' and expires_at < clock_timestamp()`,
    [user.id],
  )
  const made = await client.change<{ id: string }>(
    `insert into totp_resets (id, user_id, mailbox, reason, ordered_by, expires_at, state)
     values ($1, $2, $3, $4, $5, clock_timestamp() + interval '${waitingTime}', $6)
     on conflict (user_id) where state in ('pending', 'scheduled') do nothing returning id`,
    [id, user.id, mailboxOf(user.email), reason, orderedBy, state],
    () => changeOf('request', user.id, null, { resetId: id, state }),
  )
  return made[0]?.id
}

/** Decides a reset that is held. */
export async function decideTotpReset(
  client: ScopedClient,
  { id, userId, state }: Pick<TotpReset, 'id' | 'userId' | 'state'>,
  decision: { readonly state: 'scheduled' | 'declined'; readonly by: string; readonly reason: string },
): Promise<void> {
  await client.change(
    `update totp_resets set state = $2, decided_by = $3, decided_at = clock_timestamp(), decision_reason = $4
      where id = $1`,
    [id, decision.state, decision.by, decision.reason],
    () =>
      changeOf(
        decision.state === 'scheduled' ? 'approve' : 'decline',
        userId,
        { resetId: id, state },
        { resetId: id, state: decision.state },
      ),
  )
}

function changeOf(
  verb: 'request' | 'approve' | 'decline',
  userId: string,
  before: Readonly<Record<string, string>> | null,
  after: Readonly<Record<string, string>>,
) {
  return {
    action: `user.${verb}_totp_reset`,
    subject: { kind: 'User', id: userId },
    organizationId: null,
    before,
    after,
  } as const
}
