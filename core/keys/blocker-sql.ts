/**
 * Who blocks a row of `api_keys`, null if it is not blocked: an administrator (the key, or its whole organization) before the
 * owner, the owner before a cluster.
 */
export const blockerSql = (row: string) =>
  `case when ${blockedByAdminSql(row)} then 'admin'
        when ${row}.owner_blocked_at is not null then 'owner'
        when ${row}.kubernetes_blocked_at is not null then 'kubernetes' end`

/** Whether an administrator blocks a row of `api_keys`, by itself or with its organization. */
export const blockedByAdminSql = (row: string) =>
  `(${row}.admin_blocked_at is not null or ${row}.organization_blocked_at is not null)`
