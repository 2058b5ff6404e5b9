import type { Pool } from 'pg'
import { inReadScope, inScope, type Scope, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { formatRub } from '#core/ledger/money'
import type { Log } from '#core/process/log'
import type { Input, Output } from '../../api/endpoint.ts'
import { notFound } from '../../api/problem.ts'
import type { adminRefreshPayment } from '../payment-contracts.ts'
import type { Shop } from '../shop.ts'
import { type Asked, askProvider } from './ask-provider.ts'
import { findPayment, type StoredPayment } from './payment-store.ts'
import { showToAdministrator } from './shown-payment.ts'

type Deps = { readonly pool: Pool; readonly shop: Shop | undefined; readonly log: Log }

type Outcome = Extract<Output<typeof adminRefreshPayment>, { readonly body: object }>['body']['outcome']

const unavailable = { problem: { code: 'payments_unavailable' } } as const

/**
 * Asks the provider about a payment as a worker does after a notification, and audits who asked and what came of it.
 * What the provider answers is posted once, even if others ask at the same time.
 */
export async function refreshForAdministrator(
  { pool, shop, log }: Deps,
  { caller, visit, params: { payment_id } }: Input<typeof adminRefreshPayment>,
): Promise<Output<typeof adminRefreshPayment>> {
  const before = await find(pool, payment_id)
  if (before === undefined) return notFound
  if (shop === undefined) return unavailable
  const asked = await askProvider({ pool, shop: shop.forOneWait(), log }, before.id)
  const payment = (await find(pool, before.id)) ?? before
  const outcome = outcomeOf(asked, before, payment)
  await noteAsked(pool, scopeOfAdministrator(caller.administratorId, visit), {
    before,
    after: payment,
    outcome,
  })
  if (outcome === 'unavailable') return unavailable
  return { status: 200, body: { outcome, payment: showToAdministrator(payment) } }
}

async function find(pool: Pool, id: string): Promise<StoredPayment | undefined> {
  return isId(id) ? inReadScope(pool, null, (client) => findPayment(client, null, id)) : undefined
}

/** A payment whose first call has no outcome yet was not answered. Pure. */
function outcomeOf(asked: Asked, before: StoredPayment, after: StoredPayment): Outcome | 'unavailable' {
  if (asked !== 'answered') return asked
  const isSame = (['status', 'refunded', 'providerId'] as const).every((name) => before[name] === after[name])
  if (!isSame) return 'changed'
  if (after.providerId !== null) return 'unchanged'
  return after.status === 'pending' ? 'unavailable' : 'not_found'
}

async function noteAsked(
  pool: Pool,
  scope: Scope,
  {
    before,
    after,
    outcome,
  }: { readonly before: StoredPayment; readonly after: StoredPayment; readonly outcome: string },
): Promise<void> {
  await inScope(pool, scope, (client) =>
    client.change('select', [], () => ({
      action: 'payment.refresh',
      subject: { kind: 'Payment', id: before.id },
      organizationId: before.organizationId,
      before: factsOf(before),
      after: { ...factsOf(after), outcome },
    })),
  )
}

function factsOf({ status, refunded }: StoredPayment) {
  return { status, refundedRub: formatRub(refunded) }
}
