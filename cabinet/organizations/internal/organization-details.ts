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
} & { readonly [Budget in BudgetName]: NanoRub | null }

/** What all keys of the organization may spend in a period; `null`: no limit. */
type BudgetName = 'dailyBudgetNano' | 'weeklyBudgetNano' | 'monthlyBudgetNano' | 'totalBudgetNano'

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
  const { rows } = await client.query<
    Pick<OrganizationDetails, 'id' | 'name' | 'displayName' | 'timeZone'> & {
      readonly [Amount in AmountName]: bigint | null
    }
  >(
    `select id, name, display_name as "displayName", time_zone as "timeZone",
            low_balance_threshold_nano as "lowBalanceThresholdNano", daily_budget_nano as "dailyBudgetNano",
            weekly_budget_nano as "weeklyBudgetNano", monthly_budget_nano as "monthlyBudgetNano",
            total_budget_nano as "totalBudgetNano"
       from organizations where id = $1 ${lock ? 'for no key update' : ''}`,
    [organizationId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  const amount = (name: AmountName) => {
    const nano = row[name]
    return nano === null ? null : nanoRub(nano)
  }
  const details = {
    ...row,
    lowBalanceThresholdNano: amount('lowBalanceThresholdNano'),
    dailyBudgetNano: amount('dailyBudgetNano'),
    weeklyBudgetNano: amount('weeklyBudgetNano'),
    monthlyBudgetNano: amount('monthlyBudgetNano'),
    totalBudgetNano: amount('totalBudgetNano'),
  }
  return { ...details, version: versionOf(details) }
}

type AmountName = 'lowBalanceThresholdNano' | BudgetName

function versionOf(settings: Settings): string {
  const said = JSON.stringify(settingNames.map((name) => settings[name]?.toString()))
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
  // A first budget counts every day of every key.
  await client.query(`set local statement_timeout = '60s'`)
  const only = (of: Settings) => Object.fromEntries(changed.map((name) => [name, of[name]]))
  await client.change(
    `update organizations set display_name = $2, time_zone = $3, low_balance_threshold_nano = $4, daily_budget_nano = $5,
            weekly_budget_nano = $6, monthly_budget_nano = $7, total_budget_nano = $8 where id = $1`,
    [before.id, ...settingNames.map((name) => after[name])],
    () => ({
      action: 'organization.update',
      subject: { kind: 'Organization', id: before.id },
      organizationId: before.id,
      before: only(before),
      after: only(after),
    }),
  )
}

/** In the order of the columns of the update. */
const settingNames = [
  'displayName',
  'timeZone',
  'lowBalanceThresholdNano',
  'dailyBudgetNano',
  'weeklyBudgetNano',
  'monthlyBudgetNano',
  'totalBudgetNano',
] as const

/** Whether Postgres knows this time zone. Its list differs from that of Node. */
export async function isKnownZone(client: Queryable, timeZone: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_timezone_names where name = $1', [timeZone])
  return rowCount !== 0
}
