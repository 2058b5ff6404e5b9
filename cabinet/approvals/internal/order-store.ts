import type { Change } from '#core/audit/audit-log'
import type { ScopedClient } from '#core/audit/scope'
import { exactTimeSql } from '#core/db/exact-time'
import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import type { Because } from './needs-approval.ts'

type OrderKind = 'adjustment' | 'refund' | 'write_off'

/** An order that needed approval. */
export type StoredOrder = {
  readonly id: string
  readonly kind: OrderKind
  readonly organizationId: string
  readonly paymentId: string | null
  readonly chargeId: string | null
  readonly amount: NanoRub
  readonly reason: string
  readonly because: Because
  readonly orderedBy: string
  readonly orderedByEmail: string
  readonly orderedAt: Date
  readonly expiresAt: Date
  readonly state: 'pending' | 'approved' | 'declined' | 'expired'
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly decisionReason: string | null
  /** `ordered_at` with microseconds, for cursors. */
  readonly position: string
}

const columns = `o.id, o.kind, o.organization_id as "organizationId", o.payment_id as "paymentId", o.charge_id as "chargeId", o.amount, o.reason, o.because,
  o.ordered_by as "orderedBy", (select a.email from administrators a where a.id = o.ordered_by) as "orderedByEmail",
  o.ordered_at as "orderedAt", o.expires_at as "expiresAt",
  case when o.state = 'pending' and o.expires_at < clock_timestamp() then 'expired' else o.state end as state,
  o.decided_by as "decidedBy", o.decided_at as "decidedAt", o.decision_reason as "decisionReason",
  ${exactTimeSql('o.ordered_at')} as position`

/** Newest first, of those that needed approval; `pending`: only those that can still be approved. */
export async function readOrders(
  client: Queryable,
  which: {
    readonly state: 'pending' | 'all'
    readonly after: readonly [string, string] | undefined
    readonly limit: number
  },
): Promise<readonly StoredOrder[]> {
  const [at = null, id = null] = which.after ?? []
  const { rows } = await client.query<StoredOrder>(
    `select ${columns} from money_orders o
      where o.state <> 'done'
        and ($1 or (o.state = 'pending' and o.expires_at >= clock_timestamp()))
        and ($2::timestamptz is null or (o.ordered_at, o.id) < ($2, $3::uuid))
      order by o.ordered_at desc, o.id desc limit $4`,
    [which.state === 'all', at, id, which.limit],
  )
  return rows
}

/** Locks an order that needed approval, so that it is decided once. */
export async function holdOrder(client: ScopedClient, id: string): Promise<StoredOrder | undefined> {
  await client.query("select from money_orders where id = $1 and state <> 'done' for update", [id])
  return findOrder(client, id)
}

export async function findOrder(client: Queryable, id: string): Promise<StoredOrder | undefined> {
  const { rows } = await client.query<StoredOrder>(
    `select ${columns} from money_orders o where o.id = $1 and o.state <> 'done'`,
    [id],
  )
  return rows[0]
}

export type NewOrder = {
  readonly id: string
  readonly kind: OrderKind
  readonly organizationId: string
  /** Of a refund. */
  readonly paymentId?: string
  /** Of a write-off: the rejected charge. */
  readonly chargeId?: string
  readonly amount: NanoRub
  readonly reason: string
  readonly orderedBy: string
}

/** How long a request waits for another administrator. */
const waitingTime = '7 days'

/** Records an administrator's order. If it needs no approval, what carries it out is audited. */
export async function insertOrder(
  client: ScopedClient,
  order: NewOrder,
  because: Because | undefined,
): Promise<void> {
  const { id, kind, organizationId, paymentId = null, chargeId = null, amount, reason, orderedBy } = order
  const sql = `insert into money_orders (id, kind, organization_id, payment_id, amount, reason, ordered_by, because, charge_id, state, expires_at)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, case when $8::text is null then 'done' else 'pending' end,
                       case when $8::text is not null then clock_timestamp() + interval '${waitingTime}' end)`
  const values = [id, kind, organizationId, paymentId, amount, reason, orderedBy, because ?? null, chargeId]
  if (because === undefined)
    await client.withoutAudit('what carries it out is audited in this transaction', sql, values)
  else
    await client.change(sql, values, () =>
      changeOf('request', order, null, { kind, amountNano: String(amount), paymentId, chargeId, because }),
    )
}

/** Decides an order that is held and pending. */
export async function decideOrder(
  client: ScopedClient,
  order: Pick<StoredOrder, 'id' | 'organizationId'>,
  decision: { readonly state: 'approved' | 'declined'; readonly by: string; readonly reason: string },
): Promise<void> {
  await client.change(
    `update money_orders set state = $2, decided_by = $3, decided_at = clock_timestamp(), decision_reason = $4
      where id = $1 and state = 'pending'`,
    [order.id, decision.state, decision.by, decision.reason],
    () =>
      changeOf(
        decision.state === 'approved' ? 'approve' : 'decline',
        order,
        { state: 'pending' },
        { state: decision.state },
      ),
  )
}

function changeOf(
  verb: string,
  { id, organizationId }: Pick<StoredOrder, 'id' | 'organizationId'>,
  before: Change['before'],
  after: Change['after'],
): Change {
  return {
    action: `approval.${verb}`,
    subject: { kind: 'Approval', id },
    organizationId,
    before,
    after,
  }
}

/** Lets one order of an administrator be made at a time, so that two at once do not each count as the first. */
export async function holdAdministrator(client: ScopedClient, administratorId: string): Promise<void> {
  await client.query('select from administrators where id = $1 for no key update', [administratorId])
}

/** What an administrator did for an organization in 24 hours without approval, in either direction. */
export async function readDoneAlone(
  client: Queryable,
  { administratorId, organizationId }: { readonly administratorId: string; readonly organizationId: string },
): Promise<NanoRub> {
  const { rows } = await client.query<{ done: bigint }>(
    `select coalesce(sum(abs(amount)), 0)::bigint as done from money_orders
      where state = 'done' and ordered_by = $1 and organization_id = $2
        and ordered_at > clock_timestamp() - interval '24 hours'`,
    [administratorId, organizationId],
  )
  return nanoRub(rows[0]?.done ?? 0n)
}

/** The rule is on unless a command turned it off, and one administrator can sign in. */
export async function isRuleOn(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ isOn: boolean }>(
    `select is_on or (select count(*) > 1 from administrators where blocked_at is null and password_hash is not null) as "isOn"
       from two_person_rule`,
  )
  return rows[0]?.isOn ?? true
}
