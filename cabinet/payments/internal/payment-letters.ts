import type { ScopedClient } from '../../audit/scope.ts'
import type { Queryable } from '../../db/pool.ts'
import { formatRub, type NanoRub } from '../../ledger/money.ts'
import { enqueueLetter } from '../../mail/outbox.ts'
import { findOwners } from '../../organizations/owners.ts'

/** Tells the owners that a payment was credited, and what bonus came with it. Once per payment. */
export async function tellCredited(client: ScopedClient, paymentId: string): Promise<void> {
  const { organizationId, organization, amount, welcome, balance } = await readFacts(client, paymentId)
  const vars = {
    organization,
    amount: formatRub(amount),
    welcome: welcome === null ? null : formatRub(welcome),
    balance: formatRub(balance),
  }
  for (const owner of await addressesOf(client, organizationId, `payment_credited:${paymentId}`))
    await enqueueLetter(client, { kind: 'payment_credited', vars, ...owner })
}

type TellingRefund = { readonly id: string; readonly amount: NanoRub; readonly isWelcomeReversed: boolean }

/** Tells the owners that a payment was given back, whole or in part, and whether its bonus went with it. Once per refund. */
export async function tellRefunded(
  client: ScopedClient,
  paymentId: string,
  refund: TellingRefund,
): Promise<void> {
  const facts = await readFacts(client, paymentId)
  const { organization, welcome, balance } = facts
  const vars = {
    organization,
    amount: formatRub(refund.amount),
    paymentAmount: formatRub(facts.amount),
    paymentAt: facts.createdAt.toISOString(),
    welcome: welcome === null || !refund.isWelcomeReversed ? null : formatRub(welcome),
    balance: formatRub(balance),
  }
  for (const owner of await addressesOf(client, facts.organizationId, `payment_refunded:${refund.id}`))
    await enqueueLetter(client, { kind: 'payment_refunded', vars, ...owner })
}

/** Tells the owners that nothing came of a payment, and why. Once per payment. */
export async function tellCanceled(
  client: ScopedClient,
  paymentId: string,
  reason: string | null,
): Promise<void> {
  const { organizationId, organization, amount } = await readFacts(client, paymentId)
  const vars = { organization, amount: formatRub(amount), reason }
  for (const owner of await addressesOf(client, organizationId, `payment_canceled:${paymentId}`))
    await enqueueLetter(client, { kind: 'payment_canceled', vars, ...owner })
}

type Facts = {
  readonly organizationId: string
  /** What people call it. */
  readonly organization: string
  readonly amount: NanoRub
  readonly createdAt: Date
  /** The bonus that the payment has earned, also if it was taken back; `null`: none. */
  readonly welcome: NanoRub | null
  readonly balance: NanoRub
}

/** As they are after what this transaction has booked. */
async function readFacts(client: Queryable, paymentId: string): Promise<Facts> {
  const { rows } = await client.query<Facts>(
    `select p.organization_id as "organizationId", coalesce(o.display_name, o.name) as organization, p.amount,
            p.created_at as "createdAt", a.balance, b.amount as welcome
       from payments p
       join organizations o on o.id = p.organization_id
       join org_account a on a.organization_id = p.organization_id
       left join bonuses b on b.payment_id = p.id and b.kind = 'welcome'
      where p.id = $1`,
    [paymentId],
  )
  const [facts] = rows
  if (facts === undefined) throw new Error(`there is no payment ${paymentId}`)
  return facts
}

/** Where a letter goes, in whose language, and what makes it one letter whatever is repeated. */
async function addressesOf(client: Queryable, organizationId: string, occasion: string) {
  const owners = await findOwners(client, organizationId)
  return owners.map(({ id, email, locale }) => ({ recipient: email, locale, dedupeKey: `${occasion}:${id}` }))
}
