import { exactTimeSql } from '#core/db/exact-time'
import type { Queryable } from '#core/db/pool'
import { balanceAfterSql } from '#core/ledger/balance-after-sql'
import { formatRub, nanoRub } from '#core/ledger/money'

type TimelineEvent = {
  readonly at: Date
  readonly kind: 'sign_up' | 'consent' | 'payment' | 'refund' | 'ledger' | 'change' | 'email'
  /** Unique within the timeline, and the order of events at one time. */
  readonly key: string
  readonly position: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** The event after which a page begins: its time (microseconds, UTC) and key. */
type After = readonly [at: string, key: string] | undefined

/** The events of one kind: where they are, and their facts. `$1` is the organization. */
type Source = {
  readonly kind: TimelineEvent['kind']
  readonly at: string
  readonly id: string
  readonly facts: string
  readonly from: string
  /** The order of its index, newest first. */
  readonly order: string
}

/** Events behind the cursor. */
const behind = (kind: TimelineEvent['kind'], at: string, id: string) =>
  `($2::timestamptz is null or (${at}, ('${kind}:' || ${id}) collate "C") < ($2, $3::text))`

const members = 'select m.user_id from memberships m where m.organization_id = $1'

/** Amounts are in nano-rubles here; `showFacts` writes them as rubles. */
const sources: readonly Source[] = [
  {
    kind: 'sign_up',
    at: 'u.created_at',
    id: 'u.id',
    facts: "jsonb_build_object('email', u.email, 'confirmed', u.email_confirmed_at is not null)",
    from: `users u where u.id in (${members})`,
    order: 'u.created_at desc, u.id desc',
  },
  {
    kind: 'consent',
    at: 'c.at',
    id: 'c.id',
    facts:
      "jsonb_build_object('user_id', c.user_id, 'document', c.kind, 'version', c.version, 'withdrawn', c.withdrawn)",
    from: `consents c where c.user_id in (${members})`,
    order: 'c.at desc, c.id desc',
  },
  {
    kind: 'payment',
    at: 'p.created_at',
    id: 'p.id',
    facts:
      "jsonb_build_object('payment_id', p.id, 'amount_nano', p.amount::text, 'status', p.status, 'reason', p.cancellation_reason)",
    from: 'payments p where p.organization_id = $1',
    order: 'p.created_at desc, p.id desc',
  },
  {
    kind: 'refund',
    at: 'r.created_at',
    id: 'r.id',
    facts:
      "jsonb_build_object('payment_id', r.payment_id, 'amount_nano', r.amount::text, 'status', r.status, 'reason', r.reason)",
    from: 'refunds r where r.organization_id = $1',
    order: 'r.created_at desc, r.id desc',
  },
  {
    // Charges are too many; the ledger has them. Each lane has an order of its index.
    kind: 'ledger',
    at: 'l.posted_at',
    id: 'l.seq',
    facts:
      "jsonb_build_object('entry', l.kind, 'ref_id', l.ref_id, 'amount_nano', l.amount::text, 'balance_nano', l.balance::text)",
    from: `org_account a
            cross join lateral generate_series(0, a.lanes - 1) n (lane)
            cross join lateral (
              select l.*, ${balanceAfterSql('l')} as balance from balance_ledger l
               where l.organization_id = $1 and l.kind <> 'charge'
                 and l.seq >= n.lane::bigint << 48 and l.seq < (n.lane::bigint + 1) << 48
                 and ${behind('ledger', 'l.posted_at', 'l.seq')}
               order by l.seq desc limit $4) l
            where a.organization_id = $1`,
    order: 'l.posted_at desc, l.seq desc',
  },
  {
    kind: 'change',
    at: 'a.at',
    id: 'a.id',
    facts: `jsonb_build_object('action', a.action, 'actor_kind', a.actor_kind, 'actor_id', a.actor_id,
             'subject_kind', a.subject_kind, 'subject_id', a.subject_id, 'reason', a.reason, 'after', a.after)`,
    from: "audit_log a where a.organization_id = $1 and a.action <> 'customer.view'",
    order: 'a.id desc',
  },
  {
    // Sign-ins, blocks and passwords of members belong to no organization.
    kind: 'change',
    at: 'a.at',
    id: 'a.id',
    facts: `jsonb_build_object('action', a.action, 'actor_kind', a.actor_kind, 'actor_id', a.actor_id,
             'subject_kind', a.subject_kind, 'subject_id', a.subject_id, 'reason', a.reason, 'after', a.after)`,
    from: `audit_log a where a.organization_id is null and a.subject_kind = 'User'
             and a.subject_id in (select m.user_id::text from memberships m where m.organization_id = $1)`,
    order: 'a.id desc',
  },
  {
    kind: 'email',
    at: 'e.created_at',
    id: 'e.id',
    facts:
      "jsonb_build_object('email_id', e.id, 'email_kind', e.kind, 'recipient', e.recipient, 'sent_at', e.sent_at, 'gave_up_at', e.gave_up_at)",
    from: `email_outbox e where lower(e.recipient) in (select lower(u.email) from users u where u.id in (${members}))`,
    order: 'e.created_at desc, e.id desc',
  },
]

/** Each source reads at most one page behind the cursor; the newest of all are the page. */
const timelineSql = sources
  .map(
    ({ kind, at, id, facts, from, order }) =>
      `(select ${at} as at, '${kind}' as kind, '${kind}:' || ${id} as key, ${facts} as facts
          from ${from} and ${behind(kind, at, id)}
         order by ${order} limit $4)`,
  )
  .join(' union all ')

/** What happened to an organization and its members, newest first. */
export async function readTimeline(
  client: Queryable,
  organizationId: string,
  { after, limit }: { readonly after: After; readonly limit: number },
): Promise<readonly TimelineEvent[]> {
  const [at, key] = after ?? [null, null]
  const { rows } = await client.query<TimelineEvent>(
    `select at, kind, key, facts, ${exactTimeSql('at')} as position from (${timelineSql}) events
      order by at desc, key collate "C" desc limit $4`,
    [organizationId, at, key, limit],
  )
  return rows
}

/** Facts as the API returns them: amounts in rubles. Pure. */
export function showFacts(facts: TimelineEvent['facts']): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) =>
      name.endsWith('_nano') && typeof value === 'string'
        ? [name.replace(/_nano$/, '_rub'), formatRub(nanoRub(BigInt(value)))]
        : [name, value],
    ),
  )
}
