import type { Pool } from 'pg'
import { inReadScope, inScope, scopeOfAdministrator } from '#core/audit/scope'
import type { NanoRub } from '#core/ledger/money'
import type { Log } from '#core/process/log'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { toPage } from '../api/page.ts'
import { notFound } from '../api/problem.ts'
import { readDifferences, resolveDifference, type StoredDifference } from './internal/differences.ts'
import { type KeptNotification, readNotifications } from './internal/kept-notifications.ts'
import { readPayments } from './internal/payment-store.ts'
import { refreshForAdministrator } from './internal/refresh-for-administrator.ts'
import { refundPayment } from './internal/refund-payment.ts'
import { showToAdministrator } from './internal/shown-payment.ts'
import * as contracts from './payment-contracts.ts'
import type { Shop } from './shop.ts'

type OversightDeps = {
  readonly pool: Pool
  readonly log: Log
  /** `undefined`: payments are not configured. */
  readonly shop: Shop | undefined
  /** What one administrator may move for one organization in 24 hours. */
  readonly aloneMax: NanoRub
}

/** Endpoints for administrators: payments of all organizations, their refresh and refunds, and what differs at the provider. */
export function oversightEndpoints(deps: OversightDeps): readonly Endpoint[] {
  const { pool } = deps
  return [
    endpoint(contracts.adminListPayments, async ({ query: { organization_id = null, limit, cursor } }) => {
      const payments = await inReadScope(pool, null, (client) =>
        readPayments(client, organization_id, { after: cursor, limit: limit + 1 }),
      )
      const body = toPage(payments, limit, showToAdministrator, ({ position, id }) => [position, id])
      return { status: 200, body }
    }),
    endpoint(contracts.adminRefreshPayment, (input) => refreshForAdministrator(deps, input)),
    endpoint(contracts.adminRefundPayment, (input) => refundPayment(deps, input)),
    endpoint(contracts.adminListWebhooks, async ({ query: { state, limit, cursor } }) => {
      const notifications = await inReadScope(pool, null, (client) =>
        readNotifications(client, { state, before: cursor, limit: limit + 1 }),
      )
      return { status: 200, body: toPage(notifications, limit, showNotification, ({ id }) => String(id)) }
    }),
    endpoint(contracts.adminListPaymentDifferences, async ({ query: { state, limit, cursor } }) => {
      const differences = await inReadScope(pool, null, (client) =>
        readDifferences(client, { state, before: cursor, limit: limit + 1 }),
      )
      return { status: 200, body: toPage(differences, limit, showDifference, ({ id }) => String(id)) }
    }),
    endpoint(contracts.adminResolvePaymentDifference, async ({ caller, visit, params, body }) => {
      const { difference_id } = params
      if (!contracts.isDifferenceId(difference_id)) return notFound
      const scope = scopeOfAdministrator(caller.administratorId, visit, body.reason)
      const resolved = await inScope(pool, scope, (client) =>
        resolveDifference(client, difference_id, caller.administratorId),
      )
      return resolved === undefined ? notFound : { status: 200 as const, body: showDifference(resolved) }
    }),
  ]
}

function showNotification({ id, event, objectId, outcome, tries, ...times }: KeptNotification) {
  return {
    id: String(id),
    received_at: times.receivedAt.toISOString(),
    event,
    object_id: objectId,
    processed_at: times.processedAt?.toISOString() ?? null,
    outcome,
    tries,
  }
}

function showDifference(difference: StoredDifference) {
  const { id, kind, providerId, paymentId, ours, theirs, noticedAt, resolvedAt, resolvedBy } = difference
  return {
    id: String(id),
    kind,
    provider_id: providerId,
    payment_id: paymentId,
    expected: ours,
    found: theirs,
    noticed_at: noticedAt.toISOString(),
    resolved_at: resolvedAt?.toISOString() ?? null,
    resolved_by: resolvedBy,
  }
}
