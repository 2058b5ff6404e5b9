import type { Pool, PoolClient } from 'pg'
import type { KeyBudget, ProjectedRow } from '#core/admission/projected-rows'
import { inSnapshot } from '#core/db/snapshot'
import { blockerSql } from '#core/keys/blocker-sql'
import { hasBudget } from '#core/ledger/has-budget'
import { postedWindow } from '#core/ledger/post-batch'
import { type BudgetPeriod, windowOf } from '#core/ledger/spend-window'
import type { Shard } from '#core/redis/shard'
import { zoneText } from './internal/zone-text.ts'

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
      // Before the keys and organizations whose budgets they are of.
      ...(await readWindows(client, `k.changed_xid >= $1::text::xid8 or ${unnoted('k')}`, since)),
      ...(await readOrganizationWindows(client, 'o.zone_xid >= $1::text::xid8', since)),
      ...(await readZones(client, 'o.zone_xid >= $1::text::xid8', since)),
      ...(await readKeys(client, `k.changed_xid >= $1::text::xid8 or ${unnoted('k')}`, since, defaults)),
      ...(await readSecrets(client, `c.changed_xid >= $1::text::xid8 or ${unnoted('c')}`, since)),
      ...(await readBalances(client, 'a.credited_xid >= $1::text::xid8', since)),
    ]
  })
}

/**
 * The whole state of these shards: keys and secrets (including revoked ones, as tombstones), balances, and the daily
 * key spend and windows of budgets since two days ago. Includes the cursor for the next `readChanges`.
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
      ...(await readKeyDays(client, `s.day >= ${firstDay} and ${within}`, [shards])),
      ...(await readWindows(client, within, [shards])),
      ...(await readOrganizationWindows(client, within, [shards])),
      ...(await readZones(client, `o.zone_version > 0 and ${within}`, [shards])),
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
  const windows = rows.filter((row) => row.kind === 'window')
  const ofOrganizations = windows.filter(({ scope }) => scope === 'organization')
  const ofKeys = windows.filter(({ scope }) => scope !== 'organization')
  const zones = rows.flatMap((row) => (row.kind === 'zone' ? [row.organizationId] : []))
  const ofDays = [days.map(({ keyId }) => keyId), days.map(({ day }) => day)]
  const read = await readRows(pool, async (client) => [
    ...(await readBalances(client, 'a.organization_id = any($1::uuid[])', [organizations])),
    ...(await readKeyDays(client, oneOf, ofDays)),
    ...(await readWindowsAgain(client, ofKeys)),
    ...(await readOrganizationWindowsAgain(client, ofOrganizations)),
    ...(await readZones(client, 'o.id = any($1::uuid[])', [zones])),
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
  const { rows } = await client.query<Omit<Read<'key'>, 'budgets'> & Budgets & { isNoted: boolean }>(
    `select shard, "isNoted", id as "keyId", version,
            case when revoked_at is not null then 'revoked' when blocked_by is not null then 'blocked'
                 else 'active' end as state,
            case when revoked_at is null then blocked_by end as "blockedBy",
            ${milliseconds('expires_at')} as "expiresAtMs", rpm, tpm, daily_budget_nano as "dailyBudgetNano",
            weekly_budget_nano as week, monthly_budget_nano as month, total_budget_nano as total,
            member_monthly_budget_nano as "memberMonth", created_by as "createdBy", allowed_models as "allowedModels",
            allowed_ips as "allowedIps", read_balance as "readBalance",
            keeps_responses_hours as "keepsResponsesHours"
       from (select o.shard, not (${unnoted('k')}) as "isNoted", k.id, k.version, k.revoked_at, k.expires_at, k.daily_budget_nano,
                    k.weekly_budget_nano, k.monthly_budget_nano, k.total_budget_nano, k.member_monthly_budget_nano,
                    k.created_by, k.allowed_models, k.allowed_ips,
                    k.read_balance, k.keeps_responses_hours, coalesce(k.rpm, $2) as rpm, coalesce(k.tpm, $3) as tpm,
                    ${blockerSql('k')} as blocked_by
               from api_keys k join organizations o on o.id = k.organization_id where ${condition}) as key`,
    [...values, defaults.rpm, defaults.tpm],
  )
  return rows.map(({ shard, isNoted, week, month, total, memberMonth, createdBy, ...row }) => ({
    shard,
    isNoted,
    row: { kind: 'key', ...row, budgets: budgetsOf({ week, month, total, memberMonth, createdBy }) },
  }))
}

type Budgets = Record<'week' | 'month' | 'total' | 'memberMonth', bigint | null> & {
  readonly createdBy: string | null
}

/** Its own first, as `window.lua` expects. */
function budgetsOf({ memberMonth, createdBy, ...own }: Budgets): readonly KeyBudget[] {
  const ofKey = limitsOf(['week', 'month', 'total'], own).map((budget) => ({ of: 'key' as const, ...budget }))
  if (memberMonth === null || createdBy === null) return ofKey
  return [...ofKey, { of: { userId: createdBy }, period: 'month', limitNano: memberMonth }]
}

/** The limits that are set, in the order of these periods. */
function limitsOf<Period extends BudgetPeriod>(
  periods: readonly Period[],
  limits: Readonly<Record<Period, bigint | null>>,
): readonly { readonly period: Period; readonly limitNano: bigint }[] {
  return periods.flatMap((period) => {
    const limitNano = limits[period]
    return limitNano === null ? [] : [{ period, limitNano }]
  })
}

async function readBalances(client: PoolClient, condition: string, values: unknown[]): Promise<ChangedRow[]> {
  const { rows } = await client.query<Read<'organization'>>(
    `select o.shard, o.id as "organizationId", a.balance as "postedNano", a.version
       from org_account a join organizations o on o.id = a.organization_id where ${condition}`,
    values,
  )
  return rows.map(({ shard, ...row }) => ({ shard, isNoted: true, row: { kind: 'organization', ...row } }))
}

/** It is today at most two days later in any time zone. */
const firstDay = "(now() at time zone 'UTC')::date - 2"

async function readKeyDays(client: PoolClient, condition: string, values: unknown[]): Promise<ChangedRow[]> {
  const { rows } = await client.query<Read<'key_day'>>(
    `select o.shard, s.key_id as "keyId", s.day - date '1970-01-01' as day, s.amount as "postedNano", s.version
       from key_daily_spend s join api_keys k on k.id = s.key_id join organizations o on o.id = k.organization_id
      where ${condition}`,
    values,
  )
  return rows.map(({ shard, ...row }) => ({ shard, isNoted: true, row: { kind: 'key_day', ...row } }))
}

type WindowRow = Parameters<typeof postedWindow>[0] & { readonly shard: Shard }

/** The windows of these keys' budgets that are open in any time zone, or were two days ago. */
async function readWindows(client: PoolClient, condition: string, values: unknown[]): Promise<ChangedRow[]> {
  const days = `generate_series(${firstDay}, ${firstDay} + 3, interval '1 day')`
  return windowsOf(
    client,
    `select k.id, d.day::date as day from api_keys k join organizations o on o.id = k.organization_id, ${days} as d (day)
      where (${condition}) and coalesce(k.weekly_budget_nano, k.monthly_budget_nano, k.total_budget_nano,
                                       k.member_monthly_budget_nano) is not null
        and k.revoked_at is null`,
    values,
  )
}

type Windows = readonly Extract<ProjectedRow, { kind: 'window' }>[]

async function readWindowsAgain(client: PoolClient, windows: Windows): Promise<ChangedRow[]> {
  const asked = `select k.id, date '1970-01-01' + d.day as day
       from unnest($1::text[], $2::int[]) as d (owner, day) join api_keys k on k.id = any(
         case when d.owner like '%.%'
           then array(select m.id from api_keys m where m.organization_id = split_part(d.owner, '.', 1)::uuid
                         and m.created_by = split_part(d.owner, '.', 2)::uuid and m.member_monthly_budget_nano is not null
                       limit 1)
           else array[d.owner::uuid] end)`
  const read = await windowsOf(client, asked, [
    windows.map(({ ownerId }) => ownerId),
    windows.map(({ day }) => day),
  ])
  return thoseOf(windows, read)
}

function thoseOf(windows: Windows, read: readonly ChangedRow[]): ChangedRow[] {
  const names = new Set(windows.map(nameOfWindow))
  return read.filter(({ row }) => row.kind === 'window' && names.has(nameOfWindow(row)))
}

function nameOfWindow({ ownerId, period, day }: Windows[number]): string {
  return `${ownerId} ${windowOf(period, day)}`
}

/** The windows of these organizations' budgets that are open in any time zone, or were two days ago. */
async function readOrganizationWindows(
  client: PoolClient,
  condition: string,
  values: unknown[],
): Promise<ChangedRow[]> {
  const days = `generate_series(${firstDay}, ${firstDay} + 3, interval '1 day')`
  return organizationWindowsOf(
    client,
    `select o.id, d.day::date as day from organizations o, ${days} as d (day)
      where (${condition}) and ${hasBudget}`,
    values,
  )
}

async function readOrganizationWindowsAgain(client: PoolClient, windows: Windows): Promise<ChangedRow[]> {
  const asked =
    "select d.id, date '1970-01-01' + d.day as day from unnest($1::uuid[], $2::int[]) as d (id, day)"
  const read = await organizationWindowsOf(client, asked, [
    windows.map(({ ownerId }) => ownerId),
    windows.map(({ day }) => day),
  ])
  return thoseOf(windows, read)
}

async function organizationWindowsOf(
  client: PoolClient,
  asked: string,
  values: unknown[],
): Promise<ChangedRow[]> {
  const { rows } = await client.query<WindowRow>(
    `select o.shard, w.id, w.budget, w.day, w.amount, w.version
       from (select array_agg(a.id) as ids, array_agg(a.day) as days from (${asked}) a) a,
            organization_windows(a.ids, a.days) w join organizations o on o.id = w.id`,
    values,
  )
  return rows.map(windowOfRow)
}

async function windowsOf(client: PoolClient, asked: string, values: unknown[]): Promise<ChangedRow[]> {
  const { rows } = await client.query<WindowRow>(
    `select o.shard, w.id, w.budget, w.day, w.amount, w.version
       from (select array_agg(a.id) as ids, array_agg(a.day) as days from (${asked}) a) a,
            budget_windows(a.ids, a.days) w left join api_keys k on k.id = w.id
            join organizations o on o.id = coalesce(k.organization_id, w.id)`,
    values,
  )
  return rows.map(windowOfRow)
}

function windowOfRow({ shard, ...row }: WindowRow): ChangedRow {
  return { shard, isNoted: true, row: { kind: 'window', ...postedWindow(row) } }
}

async function readZones(client: PoolClient, condition: string, values: unknown[]): Promise<ChangedRow[]> {
  const { rows } = await client.query<{
    shard: Shard
    id: string
    version: bigint
    zone: string
    nowMs: number
    day: bigint | null
    week: bigint | null
    month: bigint | null
    total: bigint | null
  }>(
    `select o.shard, o.id, o.zone_version as version, o.time_zone as zone, ${milliseconds('now()')} as "nowMs",
            o.daily_budget_nano as day, o.weekly_budget_nano as week, o.monthly_budget_nano as month,
            o.total_budget_nano as total
       from organizations o where ${condition}`,
    values,
  )
  return rows.map(({ shard, id, version, zone, nowMs, ...limits }) => ({
    shard,
    isNoted: true,
    row: {
      kind: 'zone',
      organizationId: id,
      version,
      zone: zoneText(zone, nowMs),
      budgets: limitsOf(['day', 'week', 'month', 'total'], limits),
    },
  }))
}
