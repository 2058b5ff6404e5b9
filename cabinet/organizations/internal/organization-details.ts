import { createHash } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'

/** Settings of an organization that its members can change. */
export type Settings = {
  /** `null`: the organization's name. */
  readonly displayName: string | null
  readonly timeZone: string
  /** `null`: no low-balance emails. */
  readonly lowBalanceThresholdNano: NanoRub | null
}

export type OrganizationDetails = Settings & {
  readonly id: string
  readonly name: string
  /** Version of the settings. Changes with them. */
  readonly version: string
}

/**
 * The details of an organization, which must exist.
 * @param lock other transactions that change it wait for this one.
 */
export async function readDetails(
  client: Queryable,
  organizationId: string,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<OrganizationDetails> {
  const { rows } = await client.query<{
    readonly id: string
    readonly name: string
    readonly displayName: string | null
    readonly timeZone: string
    readonly threshold: bigint | null
  }>(
    `select id, name, display_name as "displayName", time_zone as "timeZone", low_balance_threshold_nano as threshold
       from organizations where id = $1 ${lock ? 'for no key update' : ''}`,
    [organizationId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  const { threshold, ...rest } = row
  const details = { ...rest, lowBalanceThresholdNano: threshold === null ? null : nanoRub(threshold) }
  return { ...details, version: versionOf(details) }
}

function versionOf({ displayName, timeZone, lowBalanceThresholdNano }: Settings): string {
  const said = JSON.stringify([displayName, timeZone, lowBalanceThresholdNano?.toString()])
  return createHash('sha256').update(said).digest('hex').slice(0, 16)
}

/** Changes settings of an organization that the transaction has locked. Unchanged settings are not audited. */
export async function changeSettings(
  client: ScopedClient,
  before: OrganizationDetails,
  after: Settings,
): Promise<void> {
  const changed = settingNames.filter((name) => before[name] !== after[name])
  if (changed.length === 0) return
  const only = (of: Settings) => Object.fromEntries(changed.map((name) => [name, of[name]]))
  await client.change(
    `update organizations set display_name = $2, time_zone = $3, low_balance_threshold_nano = $4 where id = $1`,
    [before.id, after.displayName, after.timeZone, after.lowBalanceThresholdNano],
    () => ({
      action: 'organization.update',
      subject: { kind: 'Organization', id: before.id },
      organizationId: before.id,
      before: only(before),
      after: only(after),
    }),
  )
}

const settingNames = ['displayName', 'timeZone', 'lowBalanceThresholdNano'] as const

/** Whether Postgres knows this time zone. Its list differs from that of Node. */
export async function isKnownZone(client: Queryable, timeZone: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_timezone_names where name = $1', [timeZone])
  return rowCount !== 0
}
