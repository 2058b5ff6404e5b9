import type { Pool } from 'pg'
import { inReadScope } from '#core/audit/scope'
import { formatRub } from '#core/ledger/money'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { readSpending, type Spent } from './internal/spending-rows.ts'
import { getSpending } from './spending-contracts.ts'

const topMax = 5

/** What an organization or one of its keys spent in the last 30 days. Each figure equals the usage of its days. */
export function spendingEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(getSpending, async ({ caller: { organizationId }, query }) =>
      inReadScope(pool, organizationId, async (client) => {
        const spending = await readSpending(client, organizationId, query.key_id, topMax)
        const body = {
          time_zone: spending.timeZone,
          from: spending.from.toISOString(),
          to: spending.to.toISOString(),
          ...shown(spending.total),
          days: spending.days.map((spent) => ({ day: spent.day, ...shown(spent) })),
          top_keys: spending.keys.map((spent) => ({
            api_key_id: spent.keyId,
            api_key_name: spent.name,
            ...shown(spent),
          })),
          top_models: spending.models.map((spent) => ({ model: spent.model, ...shown(spent) })),
        }
        return { status: 200, body } as const
      }),
    ),
  ]
}

function shown({ requests, cost }: Spent) {
  return { requests, cost_rub: formatRub(cost) }
}
