import type { Pool, PoolClient } from 'pg'
import type { ProjectedRow } from '#core/admission/projected-rows'
import { inSnapshot } from '#core/db/snapshot'
import { blockerSql } from '#core/keys/blocker-sql'
import type { Shard } from '#core/redis/shard'

/** One row of Postgres, and its shard. */
export type ChangedRow = {
  readonly shard: Shard
  readonly row: ProjectedRow
  /**
   * Whether Postgres records that Redis has this version. Not for balances and daily key spend, which no one waits
   * for.
   */
  readonly isNoted: boolean
}

/** Limits in any 60 s of a key that does not set its own. */
export type LimitDefaults = { readonly rpm: number; readonly tpm: number }

export type Changes = {
  readonly rows: readonly ChangedRow[]
  /** The start of the next read. Later commits cannot have a smaller transaction ID. */
  readonly nextXid: bigint
}

/**
 * Secrets, keys and credited balances changed since a cursor, and the next cursor. Also keys and secrets whose
 * projection is not recorded (`projected-versions.ts`), regardless of when they changed.
 *
 * Nothing is missed, in any order of commits. Rows may be repeated; their versions identify repeats.
 */
export async function readChanges(pool: Pool, sinceXid: bigint, defaults: LimitDefaults): Promise<Changes> {
  return readRows(pool, async (client) => {
    const since = [sinceXid]
    return [
      ...(await readKeys(client, `k.changed_xid >= $1::text::xid8 or ${unnoted('k')}`, since, defaults)),
      ...(await readSecrets(client, `c.changed_xid >= $1::text::xid8 or ${unnoted('c')}`, since)),
      ...(await readBalances(client, 'a.credited_xid >= $1::text::xid8', since)),
    ]
  })
}

/**
 * The whole state of these shards: keys and secrets (including revoked ones, as tombstones), balances, and the daily
 * key spend of today and yesterday, Moscow time. Includes the cursor for the next `readChanges`.
 */
export async function readState(
  pool: Pool,
  shards: readonly Shard[],
  defaults: LimitDefaults,
): Promise<Changes> {
  return readRows(pool, async (client) => {
    const within = 'o.shard = any($1)'
    return [
      ...(await readBalances(client, within, [shards])),
      ...(await readKeyDays(client, `s.day >= ${yesterday} and ${within}`, [shards])),
      ...(await readKeys(client, within, [shards], defaults)),
      ...(await readSecrets(client, within, [shards])),
    ]
  })
}

/** The current state of these rows, regardless of the given version. Deleted rows are left out. */
export async function readAgain(
  pool: Pool,
  rows: readonly ProjectedRow[],
  defaults: LimitDefaults,
): Promise<readonly ChangedRow[]> {
  const keys = rows.filter((row) => row.kind === 'key').map(({ keyId }) => keyId)
  const hashes = rows.filter((row) => row.kind === 'secret').map(({ hash }) => hash)
  const organizations = rows.filter((row) => row.kind === 'organization').map((row) => row.organizationId)
  const days = rows.filter((row) => row.kind === 'key_day')
  const oneOf =
    "(s.key_id, s.day) in (select id, date '1970-01-01' + day from unnest($1::uuid[], $2::int[]) as d (id, day))"
  const ofDays = [days.map(({ keyId }) => keyId), days.map(({ day }) => day)]
  const read = await readRows(pool, async (client) => [
    ...(await readBalances(client, 'a.organization_id = any($1::uuid[])', [organizations])),
    ...(await readKeyDays(client, oneOf, ofDays)),
    ...(await readKeys(client, 'k.id = any($1::uuid[])', [keys], defaults)),
    ...(await readSecrets(client, 'c.hash = any($1::text[])', [hashes])),
  ])
  return read.rows
}

async function readRows(pool: Pool, read: (client: PoolClient) => Promise<ChangedRow[]>): Promise<Changes> {
  const { answer: rows, nextXid } = await inSnapshot(pool, read)
  return { rows, nextXid }
}

/** Exactly as in the partial indexes. */
const unnoted = (row: string) => `${row}.projected_version < ${row}.version`

const milliseconds = (column: string) => `floor(extract(epoch from ${column}) * 1000)::float8`

/** A selected row. */
type Read<Kind> = Omit<Extract<ProjectedRow, { kind: Kind }>, 'kind'> & { shard: Shard }

async function readSecrets(client: PoolClient, condition: string, values: unknown[]): Promise<ChangedRow[]> {
  const { rows } = await client.query<Read<'secret'> & { isNoted: boolean }>(
    `select o.shard, not (${unnoted('c')}) as "isNoted", c.hash, c.version, c.key_id as "keyId", o.id as "organizationId",
            ${milliseconds('c.valid_until')} as "validUntilMs",
            case when c.revoked_at is null then 'active' else 'revoked' end as state
       from api_key_credentials c join api_keys k on k.id = c.key_id join organizations o on o.id = k.organization_id
      where ${condition}`,
    values,
  )
  return rows.map(({ shard, isNoted, ...row }) => ({ shard, isNoted, row: { kind: 'secret', ...row } }))
}

async function readKeys(
  client: PoolClient,
  condition: string,
  values: unknown[],
  defaults: LimitDefaults,
): Promise<ChangedRow[]> {
  const { rows } = await client.query<Read<'key'> & { isNoted: boolean }>(
    `select shard, "isNoted", id as "keyId", version,
            case when revoked_at is not null then 'revoked' when blocked_by is not null then 'blocked'
                 else 'active' end as state,
            case when revoked_at is null then blocked_by end as "blockedBy",
            ${milliseconds('expires_at')} as "expiresAtMs", rpm, tpm, daily_budget_nano as "dailyBudgetNano",
            allowed_models as "allowedModels", read_balance as "readBalance",
            keeps_responses_hours as "keepsResponsesHours"
       from (select o.shard, not (${unnoted('k')}) as "isNoted", k.id, k.version, k.revoked_at, k.expires_at, k.daily_budget_nano, k.allowed_models,
                    k.read_balance, k.keeps_responses_hours, coalesce(k.rpm, $2) as rpm, coalesce(k.tpm, $3) as tpm,
                    ${blockerSql('k')} as blocked_by
               from api_keys k join organizations o on o.id = k.organization_id where ${condition}) as key`,
    [...values, defaults.rpm, defaults.tpm],
  )
  return rows.map(({ shard, isNoted, ...row }) => ({ shard, isNoted, row: { kind: 'key', ...row } }))
}

async function readBalances(client: PoolClient, condition: string, values: unknown[]): Promise<ChangedRow[]> {
  const { rows } = await client.query<Read<'organization'>>(
    `select o.shard, o.id as "organizationId", a.balance as "postedNano", a.version
       from org_account a join organizations o on o.id = a.organization_id where ${condition}`,
    values,
  )
  return rows.map(({ shard, ...row }) => ({ shard, isNoted: true, row: { kind: 'organization', ...row } }))
}

/** In Moscow time. */
const yesterday = "(now() at time zone 'UTC' + interval '3 hours')::date - 1"

async function readKeyDays(client: PoolClient, condition: string, values: unknown[]): Promise<ChangedRow[]> {
  const { rows } = await client.query<Read<'key_day'>>(
    `select o.shard, s.key_id as "keyId", s.day - date '1970-01-01' as day, s.amount as "postedNano", s.version
       from key_daily_spend s join api_keys k on k.id = s.key_id join organizations o on o.id = k.organization_id
      where ${condition}`,
    values,
  )
  return rows.map(({ shard, ...row }) => ({ shard, isNoted: true, row: { kind: 'key_day', ...row } }))
}
