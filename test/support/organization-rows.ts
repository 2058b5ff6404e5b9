import type { Pool } from 'pg'

const owned = [
  'api_keys',
  'org_account',
  'organization_daily_spend',
  'balance_ledger',
  'usage_hourly',
  'usage_by_provider',
  'durations_hourly',
  'requests',
  'memberships',
  'invitations',
  'management_tokens',
  'notification_settings',
  'webhook_outbox',
  'telegram_links',
  'telegram_outbox',
  'bonuses',
  'audit_log',
  'payments',
  'refunds',
]
const ofKeys = ['api_key_credentials', 'key_daily_spend']

/** Every row of an organization, as text: the same again if nothing of it was changed. */
export async function rowsOfOrganization(pool: Pool, organizationId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ row: string }>(
    [
      `select 'organizations ' || o::text as row from organizations o where id = $1`,
      ...owned.map((table) => `select '${table} ' || t::text from ${table} t where organization_id = $1`),
      ...ofKeys.map(
        (table) =>
          `select '${table} ' || t::text from ${table} t join api_keys k on k.id = t.key_id where k.organization_id = $1`,
      ),
      `select 'session of ' || s.user_id from sessions s join memberships m using (user_id) where m.organization_id = $1`,
    ].join(' union all '),
    [organizationId],
  )
  return rows.map(({ row }) => row).toSorted()
}
