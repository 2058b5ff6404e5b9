import type { Queryable } from '../db/pool.ts'
import { blockedByAdminSql } from './blocker-sql.ts'

/**
 * From whose rows: the keys `k` that a person has created, directly or with one of their management tokens (until a
 * month after its end), and that open something now. @param userId SQL for the person's id.
 */
export function activeKeysMadeBySql(userId: string): string {
  return `audit_log made join api_keys k on k.id = made.subject_id::uuid
     where made.action = 'key.create' and made.actor_kind in ('person', 'token')
       and made.actor_id = any (array(select ${userId}::text union all
                                      select t.id::text from management_tokens t where t.created_by = ${userId}::uuid))
       and k.revoked_at is null and k.owner_blocked_at is null and not ${blockedByAdminSql('k')}
       and (k.expires_at is null or k.expires_at > now())`
}

/** Ids of the keys of `activeKeysMadeBySql`, in whatever organization, in order. Needs the platform's scope. */
export async function listActiveKeysMadeBy(client: Queryable, userId: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select k.id from ${activeKeysMadeBySql('$1')} order by k.id`,
    [userId],
  )
  return rows.map(({ id }) => id)
}
