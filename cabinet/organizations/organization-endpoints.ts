import type { Pool } from 'pg'
import type { z } from 'zod'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import { formatRub, type NanoRub } from '#core/ledger/money'
import { organizationLabel } from '#crds/resource'
import { type Endpoint, endpoint, type Input } from '../api/endpoint.ts'
import type { Problem } from '../api/problem.ts'
import {
  changeSettings,
  isKnownZone,
  type OrganizationDetails,
  readDetails,
} from './internal/organization-details.ts'
import { getOrganization, updateOrganization } from './organization-contracts.ts'

/** Endpoints for an organization's settings. */
export function organizationEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(getOrganization, async ({ caller: { organizationId } }) => {
      const details = await inReadScope(pool, organizationId, (client) => readDetails(client, organizationId))
      return { status: 200, body: bodyOf(details), version: details.version } as const
    }),
    endpoint(updateOrganization, async (input) => {
      const { userId, organizationId } = input.caller
      const scope = scopeOfPerson(userId, organizationId, input.visit)
      return inScope(pool, scope, (client) => update(client, input))
    }),
  ]
}

async function update(client: ScopedClient, { caller, body, ifMatch }: Input<typeof updateOrganization>) {
  const { organizationId } = caller
  const before = await readDetails(client, organizationId, { lock: true })
  if (before.version !== ifMatch) return { problem: { code: 'precondition_failed' } satisfies Problem }
  const { display_name, time_zone, low_balance_threshold_rub } = body
  const changed = <Value>(asked: Value | undefined, known: Value) => (asked === undefined ? known : asked)
  if (time_zone !== undefined && !(await isKnownZone(client, time_zone))) return { problem: unknownZone }
  await changeSettings(client, before, {
    displayName: changed(display_name, before.displayName),
    timeZone: time_zone ?? before.timeZone,
    lowBalanceThresholdNano: changed(low_balance_threshold_rub, before.lowBalanceThresholdNano),
    dailyBudgetNano: changed(body.daily_budget_rub, before.dailyBudgetNano),
    weeklyBudgetNano: changed(body.weekly_budget_rub, before.weeklyBudgetNano),
    monthlyBudgetNano: changed(body.monthly_budget_rub, before.monthlyBudgetNano),
    totalBudgetNano: changed(body.total_budget_rub, before.totalBudgetNano),
  })
  const details = await readDetails(client, organizationId)
  return { status: 200, body: bodyOf(details), version: details.version } as const
}

const unknownZone: Problem = {
  code: 'validation_failed',
  errors: [{ path: 'time_zone', code: 'custom', message: 'is not supported by the database' }],
}

function bodyOf(details: OrganizationDetails) {
  const { id, name, displayName, timeZone } = details
  const shown = (amount: NanoRub | null) => (amount === null ? null : formatRub(amount))
  return {
    id,
    name,
    kubectl_label_command: `kubectl label namespace <NAMESPACE> ${organizationLabel}=${name}`,
    display_name: displayName,
    time_zone: timeZone,
    low_balance_threshold_rub: shown(details.lowBalanceThresholdNano),
    daily_budget_rub: shown(details.dailyBudgetNano),
    weekly_budget_rub: shown(details.weeklyBudgetNano),
    monthly_budget_rub: shown(details.monthlyBudgetNano),
    total_budget_rub: shown(details.totalBudgetNano),
  } satisfies z.input<(typeof getOrganization.answers)[200]>
}
