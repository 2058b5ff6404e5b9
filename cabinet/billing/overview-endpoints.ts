import type { Pool } from 'pg'
import { inReadScope } from '#core/audit/scope'
import { formatRub } from '#core/ledger/money'
import { readOrganizationBudgets } from '#core/ledger/organization-budgets'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { type DaySums, readKeysNearBudget, readOverview } from './internal/overview-rows.ts'
import { showBudget } from './organization-budget.ts'
import { getOverview } from './overview-contracts.ts'

const keysMax = 10

/** Everything on an organization's overview page. */
export function overviewEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(getOverview, async ({ caller: { organizationId } }) =>
      inReadScope(pool, organizationId, async (client) => {
        const overview = await readOverview(client, organizationId)
        const keys = await readKeysNearBudget(client, organizationId, keysMax)
        const budgets = await readOrganizationBudgets(client, organizationId)
        const body = {
          time_zone: overview.timeZone,
          today: shownDay(overview.today),
          yesterday: shownDay(overview.yesterday),
          near_budgets: keys.map(({ keyId, name, period, budget, spent }) => ({
            id: keyId,
            name,
            period,
            budget_rub: formatRub(budget),
            spent_rub: formatRub(spent),
          })),
          keys_near_budget: keys
            .filter(({ period }) => period === 'day')
            .map(({ keyId, name, budget, spent }) => ({
              id: keyId,
              name,
              daily_budget_rub: formatRub(budget),
              spent_today_rub: formatRub(spent),
            })),
          organization_budgets: budgets.map(showBudget),
          has_key: overview.hasKey,
          first_request_at: overview.firstRequestAt?.toISOString() ?? null,
        }
        return { status: 200, body } as const
      }),
    ),
  ]
}

function shownDay({ start, end, requests, cost }: DaySums) {
  return { from: start.toISOString(), to: end.toISOString(), requests, cost_rub: formatRub(cost) }
}
