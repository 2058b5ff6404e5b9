import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { Difference } from './transition.ts'

export type StoredDifference = Difference & {
  readonly id: bigint
  readonly providerId: string
  /** `null`: its payment was not made here. */
  readonly paymentId: string | null
  readonly noticedAt: Date
  readonly resolvedAt: Date | null
  /** The administrator who resolved it. */
  readonly resolvedBy: string | null
}

const columns = `id, kind, provider_id as "providerId", payment_id as "paymentId", ours, theirs,
  noticed_at as "noticedAt", resolved_at as "resolvedAt", resolved_by as "resolvedBy"`

const textLengthMax = 256

/**
 * Puts a difference aside for an administrator. Returns whether it is new. The same difference is never new again,
 * even once it is resolved.
 */
export async function noteDifference(
  client: ScopedClient,
  providerId: string,
  paymentId: string | null,
  { kind, ours, theirs }: Difference,
): Promise<boolean> {
  const { rowCount } = await client.withoutAudit(
    'the table is itself an append-only record',
    `insert into payment_differences (kind, provider_id, payment_id, ours, theirs) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [kind, providerId, paymentId, ours.slice(0, textLengthMax), theirs.slice(0, textLengthMax)],
  )
  return rowCount === 1
}

/** Newest first. */
export async function readDifferences(
  client: Queryable,
  which: {
    readonly state: 'open' | 'resolved' | 'all'
    /** Only differences older than the one with this ID. */
    readonly before: string | undefined
    readonly limit: number
  },
): Promise<readonly StoredDifference[]> {
  const { rows } = await client.query<StoredDifference>(
    `select ${columns} from payment_differences
      where ($1 = 'all' or (resolved_at is null) = ($1 = 'open')) and ($2::bigint is null or id < $2)
      order by id desc limit $3`,
    [which.state, which.before ?? null, which.limit],
  )
  return rows
}

/** Resolves a difference. A resolved difference does not change. Returns `undefined` if there is none with this ID. */
export async function resolveDifference(
  client: ScopedClient,
  id: string,
  administratorId: string,
): Promise<StoredDifference | undefined> {
  await client.change<{ paymentId: string | null; organizationId: string | null }>(
    `update payment_differences d set resolved_at = clock_timestamp(), resolved_by = $2
      where id = $1 and resolved_at is null
     returning payment_id as "paymentId",
               (select organization_id from payments p where p.id = d.payment_id) as "organizationId"`,
    [id, administratorId],
    ([resolved]) => ({
      action: 'payment.resolve_difference',
      subject: { kind: 'PaymentDifference', id },
      organizationId: resolved?.organizationId ?? null,
      before: null,
      after: { paymentId: resolved?.paymentId ?? null },
    }),
  )
  const { rows } = await client.query<StoredDifference>(
    `select ${columns} from payment_differences where id = $1`,
    [id],
  )
  return rows[0]
}
