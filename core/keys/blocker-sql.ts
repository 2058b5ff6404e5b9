/**
 * Who blocks a row of `api_keys`, null if it is not blocked: an administrator before the owner, the owner
 * before a cluster.
 */
export const blockerSql = (row: string) =>
  `case when ${row}.admin_blocked_at is not null then 'admin'
        when ${row}.owner_blocked_at is not null then 'owner'
        when ${row}.kubernetes_blocked_at is not null then 'kubernetes' end`
