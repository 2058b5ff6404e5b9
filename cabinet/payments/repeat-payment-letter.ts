import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { NanoRub } from '#core/ledger/money'
import { findOwners } from '#core/organizations/owners'
import { enqueueLetter } from '../mail/outbox.ts'
import { canceledVars, creditedVars, readFacts, refundedVars } from './internal/payment-letters.ts'

type PaymentLetterKind = 'payment_credited' | 'payment_refunded' | 'payment_canceled'

export function isPaymentLetter(kind: string): kind is PaymentLetterKind {
  return kind === 'payment_credited' || kind === 'payment_refunded' || kind === 'payment_canceled'
}

/**
 * Emails an owner again about a payment or a refund of it, with the balance of now. `false`: the address is no owner's
 * any more, and nothing was written.
 *
 * @param occasionId the payment, or the refund.
 */
export async function repeatPaymentLetter(
  client: ScopedClient,
  {
    organizationId,
    kind,
    occasionId,
    recipient,
  }: {
    readonly organizationId: string
    readonly kind: PaymentLetterKind
    readonly occasionId: string
    readonly recipient: string
  },
): Promise<boolean> {
  const owners = await findOwners(client, organizationId)
  const owner = owners.find(({ email }) => email.toLowerCase() === recipient.toLowerCase())
  const occasion = await findOccasion(client, organizationId, occasionId)
  if (owner === undefined || occasion === undefined) return false
  const facts = await readFacts(client, occasion.paymentId)
  const to = {
    recipient: owner.email,
    locale: owner.locale,
    dedupeKey: `${kind}:${occasionId}:${owner.id}:${randomUUID()}`,
  }
  switch (kind) {
    case 'payment_credited':
      await enqueueLetter(client, { kind, vars: creditedVars(facts), ...to })
      return true
    case 'payment_refunded':
      await enqueueLetter(client, { kind, vars: refundedVars(facts, occasion), ...to })
      return true
    case 'payment_canceled':
      await enqueueLetter(client, { kind, vars: canceledVars(facts, occasion.reason), ...to })
      return true
  }
}

type Occasion = {
  readonly paymentId: string
  /** Of the refund or the payment. */
  readonly amount: NanoRub
  readonly reason: string | null
  /** Whether the welcome bonus was taken back with this refund, which is then the payment's last one. */
  readonly isWelcomeReversed: boolean
}

/** The payment or refund with this id. */
async function findOccasion(
  client: Queryable,
  organizationId: string,
  id: string,
): Promise<Occasion | undefined> {
  const { rows } = await client.query<Occasion>(
    `select id as "paymentId", amount, cancellation_reason as reason, false as "isWelcomeReversed"
       from payments where id = $2 and organization_id = $1
     union all
     select r.payment_id, r.amount, null,
            exists (select from bonuses b where b.payment_id = r.payment_id and b.reversed_at is not null)
              and not exists (select from refunds n where n.payment_id = r.payment_id and n.status = 'succeeded'
                                 and (n.created_at, n.id) > (r.created_at, r.id))
       from refunds r where r.id = $2 and r.organization_id = $1`,
    [organizationId, id],
  )
  return rows[0]
}
