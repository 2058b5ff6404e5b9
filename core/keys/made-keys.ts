import type { Queryable } from '../db/pool.ts'
import { blockedByAdminSql } from './blocker-sql.ts'

/** From whose rows: the keys `k` that a person has created and that open something now. @param userId SQL for the person's id. */
export function activeKeysMadeBySql(userId: string): string {
  return `audit_log made join api_keys k on k.id = made.subject_id::uuid
     where made.action = 'key.create' and made.actor_kind = 'person' and made.actor_id = ${userId}::text
       and k.revoked_at is null and k.owner_blocked_at is null and not ${blockedByAdminSql('k')}
       and (k.expires_at is null or k.expires_at > now())`
}

/** Ids of the active keys that a person has created, in whatever organization, in order. Needs the platform's scope. */
export async function listActiveKeysMadeBy(client: Queryable, userId: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select k.id from ${activeKeysMadeBySql('$1')} order by k.id`,
    [userId],
  )
  return rows.map(({ id }) => id)
}
