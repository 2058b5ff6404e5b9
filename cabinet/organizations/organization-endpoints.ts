import type { Pool } from 'pg'
import type { z } from 'zod'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import { formatRub } from '#core/ledger/money'
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
  if (time_zone !== undefined && !(await isKnownZone(client, time_zone))) return { problem: unknownZone }
  await changeSettings(client, before, {
    displayName: display_name === undefined ? before.displayName : display_name,
    timeZone: time_zone ?? before.timeZone,
    lowBalanceThresholdNano:
      low_balance_threshold_rub === undefined ? before.lowBalanceThresholdNano : low_balance_threshold_rub,
  })
  const details = await readDetails(client, organizationId)
  return { status: 200, body: bodyOf(details), version: details.version } as const
}

const unknownZone: Problem = {
  code: 'validation_failed',
  errors: [{ path: 'time_zone', code: 'custom', message: 'is not supported by the database' }],
}

function bodyOf({ id, name, displayName, timeZone, lowBalanceThresholdNano }: OrganizationDetails) {
  return {
    id,
    name,
    kubectl_label_command: `kubectl label namespace <NAMESPACE> ${organizationLabel}=${name}`,
    display_name: displayName,
    time_zone: timeZone,
    low_balance_threshold_rub: lowBalanceThresholdNano === null ? null : formatRub(lowBalanceThresholdNano),
  } satisfies z.input<(typeof getOrganization.answers)[200]>
}
