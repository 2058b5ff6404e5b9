import { createHash } from 'node:crypto'
import type { ScopedClient } from '../../audit/scope.ts'
import type { Queryable } from '../../db/pool.ts'
import { type NanoRub, nanoRub } from '../../ledger/money.ts'

/** What an organization may say about itself. */
export type Settings = {
  /** `null`: its name. */
  readonly displayName: string | null
  readonly timeZone: string
  /** `null`: no letter is wanted. */
  readonly lowBalanceThresholdNano: NanoRub | null
}

export type OrganizationDetails = Settings & {
  readonly id: string
  readonly name: string
  /** Of the settings; another one once they change. */
  readonly version: string
}

/** The organization, which exists. @param lock whoever else wants to change it waits for this transaction. */
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

/** Changes settings of an organization that the transaction has locked; those that stay as they are leave no trace. */
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

/** Whether Postgres has this time zone: its list is another one than ours. */
export async function isKnownZone(client: Queryable, timeZone: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_timezone_names where name = $1', [timeZone])
  return rowCount !== 0
}
