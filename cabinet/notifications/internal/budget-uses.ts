import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { hasKeyBudget, keyBudgetUses } from '#core/ledger/key-budget-uses'
import { readOrganizationBudgets } from '#core/ledger/organization-budgets'
import type { BudgetUse, Level } from './budget-crossing.ts'

type BudgetName = 'daily' | 'weekly' | 'monthly' | 'total'

export type AlertedUse = BudgetUse & {
  /** `null`: the budget of the organization. */
  readonly keyId: string | null
  readonly keyName: string | null
  readonly budget: BudgetName
}

type Row = Omit<AlertedUse, 'noted'> & {
  readonly notedFirstDay: string | null
  readonly notedLimitNano: bigint | null
  readonly notedPercent: number | null
}

/** The budgets of an organization and its keys that may need an alert, in the windows of a day. */
export async function readBudgetUses(
  client: Queryable,
  organizationId: string,
  day: string,
): Promise<readonly AlertedUse[]> {
  const ofOrganization = await readUsesOfOrganization(client, organizationId, day)
  return [...ofOrganization, ...(await readUsesOfKeys(client, organizationId, day))]
}

const names = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' } as const

async function readUsesOfOrganization(
  client: Queryable,
  organizationId: string,
  day: string,
): Promise<readonly AlertedUse[]> {
  const budgets = await readOrganizationBudgets(client, organizationId, day)
  if (budgets.length === 0) return []
  const { rows } = await client.query<NonNullable<BudgetUse['noted']> & { readonly budget: BudgetName }>(
    `select distinct on (budget) budget, first_day::text as "firstDay", limit_nano as "limitNano", percent
       from budget_alerts where organization_id = $1 and key_id is null order by budget, first_day desc`,
    [organizationId],
  )
  const noted = new Map(rows.map(({ budget, ...note }) => [budget, note]))
  return budgets.map(({ period, firstDay, limit, spent }) => ({
    keyId: null,
    keyName: null,
    budget: names[period],
    firstDay,
    limitNano: limit,
    spentNano: spent,
    noted: noted.get(names[period]),
  }))
}

/**
 * The budgets of an organization's keys that are at least half spent in the windows of a day, or were changed since they
 * were noted. Reads the days of each key once.
 */
async function readUsesOfKeys(
  client: Queryable,
  organizationId: string,
  day: string,
): Promise<readonly AlertedUse[]> {
  const { rows } = await client.query<Row>(
    `select k.id as "keyId", k.name as "keyName", p.budget, p.first_day::text as "firstDay", p.limit_nano as "limitNano",
            p.spent as "spentNano", b.first_day::text as "notedFirstDay", b.limit_nano as "notedLimitNano",
            b.percent as "notedPercent"
       from api_keys k ${keyBudgetUses('$2::date')}
            left join lateral (select n.first_day, n.limit_nano, n.percent from budget_alerts n
                                where n.key_id = k.id and n.budget = p.budget order by n.first_day desc limit 1) b on true
      where k.organization_id = $1 and k.revoked_at is null and ${hasKeyBudget}
        and (p.spent >= p.limit_nano - p.spent
             or b.first_day = p.first_day and b.limit_nano <> p.limit_nano)
      order by k.id, p.budget`,
    [organizationId, day],
  )
  return rows.map(({ notedFirstDay, notedLimitNano, notedPercent, ...use }) => ({
    ...use,
    noted:
      notedFirstDay === null || notedLimitNano === null || notedPercent === null
        ? undefined
        : { firstDay: notedFirstDay, limitNano: notedLimitNano, percent: notedPercent },
  }))
}

export type NotedUse = AlertedUse & { readonly percent: Level; readonly isNew: boolean }

/** Notes budgets in one statement. New alerts wait for an email, and go on waiting if the budget is changed but still reached. */
export async function noteUses(
  client: ScopedClient,
  organizationId: string,
  uses: readonly NotedUse[],
): Promise<void> {
  if (uses.length === 0) return
  const column = <Value>(of: (use: NotedUse) => Value) => uses.map(of)
  await client.withoutAudit(
    'bookkeeping of alerts; nothing changes for the organization',
    `insert into budget_alerts as b (organization_id, key_id, budget, first_day, limit_nano, percent, spent_nano, is_emailed)
     select $1::uuid, u.* from unnest($2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::smallint[], $7::bigint[], $8::boolean[]) u
     on conflict (organization_id, key_id, budget, first_day) do update
        set limit_nano = excluded.limit_nano, percent = excluded.percent, spent_nano = excluded.spent_nano,
            is_emailed = excluded.is_emailed and (b.is_emailed or excluded.percent = 0)`,
    [
      organizationId,
      column(({ keyId }) => keyId),
      column(({ budget }) => budget),
      column(({ firstDay }) => firstDay),
      column(({ limitNano }) => limitNano),
      column(({ percent }) => percent),
      column(({ spentNano }) => spentNano),
      column(({ isNew }) => !isNew),
    ],
  )
}

/** Removes the notes of earlier windows that an email has reported: only the last one is compared with. */
export async function removeOldNotes(client: ScopedClient, organizationId: string): Promise<void> {
  await client.withoutAudit(
    'bookkeeping of alerts; nothing changes for the organization',
    `delete from budget_alerts b
      where b.organization_id = $1 and b.is_emailed
        and exists (select from budget_alerts later
                     where later.organization_id = b.organization_id and later.key_id is not distinct from b.key_id
                       and later.budget = b.budget and later.first_day > b.first_day)`,
    [organizationId],
  )
}

export type UnmailedUse = Pick<AlertedUse, 'keyName' | 'budget' | 'limitNano' | 'spentNano'> & {
  readonly percent: number
}

/** Takes the alerts that no email has reported, the highest first: at most `countMax`, and the number of all. */
export async function takeUnmailedUses(
  client: ScopedClient,
  organizationId: string,
  countMax: number,
): Promise<{ readonly uses: readonly UnmailedUse[]; readonly count: number }> {
  const { rows } = await client.withoutAudit<UnmailedUse>(
    'bookkeeping of alerts; nothing changes for the organization',
    `with taken as (
       update budget_alerts b set is_emailed = true
        where b.organization_id = $1 and not b.is_emailed
       returning b.key_id, b.budget, b.percent, b.limit_nano, b.spent_nano)
     select k.name as "keyName", t.budget, t.percent, t.limit_nano as "limitNano", t.spent_nano as "spentNano"
       from taken t left join api_keys k on k.id = t.key_id
      order by t.percent desc, k.name nulls first, t.budget`,
    [organizationId],
  )
  return { uses: rows.slice(0, countMax), count: rows.length }
}
