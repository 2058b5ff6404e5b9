import type { Queryable } from '../db/pool.ts'
import { type NanoRub, nanoRub } from './money.ts'
import type { BudgetPeriod } from './spend-window.ts'

/** A budget of an organization in one window, and what was posted in it. */
export type OrganizationBudget = {
  readonly period: BudgetPeriod
  /** The first day of the window, such as 2026-12-01; of a total, 1970-01-01. */
  readonly firstDay: string
  readonly limit: NanoRub
  readonly spent: NanoRub
  /** When it begins again in the organization's time zone; `null`: never. */
  readonly resetsAt: Date | null
}

/**
 * The budgets of an organization that are set, the shortest period first.
 *
 * @param day whose windows are meant, such as 2026-12-01; left out: today in the organization's time zone.
 */
export async function readOrganizationBudgets(
  client: Queryable,
  organizationId: string,
  day?: string,
): Promise<readonly OrganizationBudget[]> {
  const { rows } = await client.query<
    Omit<OrganizationBudget, 'limit' | 'spent'> & { readonly limit: bigint; readonly spent: bigint }
  >(
    `select p.period, (date '1970-01-01' + w.day)::text as "firstDay", p.limit_nano as limit, w.amount as spent,
            (date '1970-01-01' + w.day + p.lasts) at time zone o.time_zone as "resetsAt"
       from organizations o
            cross join lateral organization_windows(
              array[o.id], array[coalesce($2::date, (now() at time zone o.time_zone)::date)]) w
            join lateral (values
              (1, 'o:d', 'day', o.daily_budget_nano, interval '1 day'),
              (2, 'o:w', 'week', o.weekly_budget_nano, interval '7 days'),
              (3, 'o:m', 'month', o.monthly_budget_nano, interval '1 month'),
              (4, 'o:t', 'total', o.total_budget_nano, null)
            ) as p (place, budget, period, limit_nano, lasts) on p.budget = w.budget
      where o.id = $1 order by p.place`,
    [organizationId, day ?? null],
  )
  return rows.map(({ limit, spent, ...row }) => ({ ...row, limit: nanoRub(limit), spent: nanoRub(spent) }))
}
