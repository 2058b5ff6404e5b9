import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import { findOwners } from '#core/organizations/owners'
import { linkTo } from '../../mail/cabinet-address.ts'
import { enqueueLetter } from '../../mail/outbox.ts'

/** Emails the owners that a payment was credited, with its bonus. Once per payment. */
export async function tellCredited(client: ScopedClient, paymentId: string): Promise<void> {
  const facts = await readFacts(client, paymentId)
  const vars = creditedVars(facts)
  for (const owner of await addressesOf(client, facts.organizationId, `payment_credited:${paymentId}`))
    await enqueueLetter(client, { kind: 'payment_credited', vars, ...owner })
}

export type TellingRefund = {
  readonly id: string
  readonly amount: NanoRub
  readonly isWelcomeReversed: boolean
}

/** Emails the owners about a full or partial refund, and whether the bonus was deducted. Once per refund. */
export async function tellRefunded(
  client: ScopedClient,
  paymentId: string,
  refund: TellingRefund,
): Promise<void> {
  const facts = await readFacts(client, paymentId)
  const vars = refundedVars(facts, refund)
  for (const owner of await addressesOf(client, facts.organizationId, `payment_refunded:${refund.id}`))
    await enqueueLetter(client, { kind: 'payment_refunded', vars, ...owner })
}

/** Emails the owners that a payment was canceled, and why. Once per payment. */
export async function tellCanceled(
  client: ScopedClient,
  paymentId: string,
  reason: string | null,
): Promise<void> {
  const facts = await readFacts(client, paymentId)
  const vars = canceledVars(facts, reason)
  for (const owner of await addressesOf(client, facts.organizationId, `payment_canceled:${paymentId}`))
    await enqueueLetter(client, { kind: 'payment_canceled', vars, ...owner })
}

/** Emails the owners why automatic top-ups were stopped. */
export async function tellStopped(
  client: ScopedClient,
  stop: Readonly<{ organizationId: string; reason: string; amount: bigint; last4: string }>,
): Promise<void> {
  const { organizationId, reason, amount, last4 } = stop
  const { rows } = await client.query<{ name: string }>(
    'select coalesce(display_name, name) as name from organizations where id = $1',
    [organizationId],
  )
  const vars = {
    organization: rows[0]?.name ?? '',
    amount: formatRub(nanoRub(amount)),
    last4,
    reason,
    ...(await linkTo(client, '/app/billing')),
  }
  for (const { email, locale } of await findOwners(client, organizationId))
    await enqueueLetter(client, { kind: 'auto_top_up_stopped', vars, recipient: email, locale })
}

export type Facts = {
  readonly organizationId: string
  /** The organization's name for users. */
  readonly organization: string
  readonly amount: NanoRub
  readonly createdAt: Date
  /** The bonus that the payment earned, even if it was taken back; `null`: none. */
  readonly welcome: NanoRub | null
  readonly balance: NanoRub
  /** The last digits of the card that was charged automatically; `null`: a user made the payment. */
  readonly last4: string | null
}

/** What an email about a credited payment contains. Pure. */
export function creditedVars({ organization, amount, welcome, balance, last4 }: Facts) {
  return {
    organization,
    last4,
    amount: formatRub(amount),
    welcome: welcome === null ? null : formatRub(welcome),
    balance: formatRub(balance),
  }
}

/** What an email about a refund contains. Pure. */
export function refundedVars(
  { organization, amount, createdAt, welcome, balance }: Facts,
  refund: Omit<TellingRefund, 'id'>,
) {
  return {
    organization,
    amount: formatRub(refund.amount),
    paymentAmount: formatRub(amount),
    paymentAt: createdAt.toISOString(),
    welcome: welcome === null || !refund.isWelcomeReversed ? null : formatRub(welcome),
    balance: formatRub(balance),
  }
}

/** What an email about a canceled payment contains. Pure. */
export function canceledVars({ organization, amount }: Facts, reason: string | null) {
  return { organization, amount: formatRub(amount), reason }
}

/** Read after the transaction's own postings. */
export async function readFacts(client: Queryable, paymentId: string): Promise<Facts> {
  const { rows } = await client.query<Facts>(
    `select p.organization_id as "organizationId", coalesce(o.display_name, o.name) as organization, p.amount,
            p.created_at as "createdAt", a.balance, b.amount as welcome,
            case when p.automatic_day is not null then coalesce(p.card_last4, '****') end as last4
       from payments p
       join organizations o on o.id = p.organization_id
       join org_account a on a.organization_id = p.organization_id
       left join bonuses b on b.payment_id = p.id and b.kind = 'welcome'
      where p.id = $1`,
    [paymentId],
  )
  const [facts] = rows
  if (facts === undefined) throw new Error(`payment ${paymentId} does not exist`)
  return facts
}

/** The recipients of an email, their languages, and the key that prevents duplicates. */
async function addressesOf(client: Queryable, organizationId: string, occasion: string) {
  const owners = await findOwners(client, organizationId)
  return owners.map(({ id, email, locale }) => ({ recipient: email, locale, dedupeKey: `${occasion}:${id}` }))
}
