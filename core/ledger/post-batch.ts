import type { Queryable } from '../db/pool.ts'
import { type ChargeKind, rankOf } from './charge-kind.ts'
import type { RequestRecord } from './request-record.ts'
import { type BudgetPeriod, type BudgetScope, periodOf, scopeOf } from './spend-window.ts'

/** One end of a request, as it is posted. */
export type BatchEntry = {
  /** UUIDv7; its time determines the partition of the row. */
  readonly requestId: string
  readonly chargeKind: ChargeKind
  readonly organizationId: string
  readonly keyId: string
  /** Day of admission in the organization's time zone, in days since 1970-01-01. */
  readonly day: number
  readonly costNano: bigint
  readonly record: RequestRecord
}

/** Balance of an organization as Postgres has it. */
export type PostedBalance = {
  readonly organizationId: string
  readonly postedNano: bigint
  /** Sequence number of its last ledger row. */
  readonly version: bigint
}

/** A key's spending on one day, according to Postgres. */
export type PostedKeyDay = {
  readonly keyId: string
  readonly day: number
  readonly postedNano: bigint
  /** 0: nothing was ever posted. */
  readonly version: bigint
}

/** The spending in one window of a budget, according to Postgres. */
export type PostedWindow = {
  readonly scope: BudgetScope
  /** A key, an organization, or a member as `<organization>.<user>`. */
  readonly ownerId: string
  readonly period: BudgetPeriod
  /** A day of the window, in days since 1970-01-01. */
  readonly day: number
  readonly postedNano: bigint
  /** Grows with each charge in the window; 0: nothing was ever posted. */
  readonly version: bigint
}

export type PostedBatch = {
  readonly balances: readonly PostedBalance[]
  readonly keyDays: readonly PostedKeyDay[]
  readonly windows: readonly PostedWindow[]
}

type Row =
  | { what: 'organization'; id: string; day: null; amount: bigint; version: bigint }
  | { what: 'key_day'; id: string; day: number; amount: bigint; version: bigint }
  | { what: 'window'; id: string; day: number; amount: bigint; version: bigint; budget: string }

/**
 * Posts a batch of charges, each request once at the cost of the kind with the highest precedence (migration
 * 0004). All or nothing.
 *
 * Any batch may be posted again, overlap another and run at the same time. Returns the balance of every
 * organization, every daily key spend and every window of a budget in the batch, also when every entry was known.
 *
 * @throws DatabaseError of SQLSTATE 22, 23 or 54 when an entry is invalid: unknown organization or key, a
 * request id that is no UUIDv7, a negative cost, a record that Postgres cannot read.
 */
export async function postBatch(client: Queryable, entries: readonly BatchEntry[]): Promise<PostedBatch> {
  const { rows } = await client.query<Row>('select * from post_batch($1)', [
    JSON.stringify(entries.map(jsonOf)),
  ])
  return {
    balances: rows
      .filter((row) => row.what === 'organization')
      .map(({ id, amount, version }) => ({ organizationId: id, postedNano: amount, version })),
    keyDays: rows
      .filter((row) => row.what === 'key_day')
      .map(({ id, day, amount, version }) => ({ keyId: id, day, postedNano: amount, version })),
    windows: rows.filter((row) => row.what === 'window').map(postedWindow),
  }
}

/** A window as `post_batch` and `budget_windows` return it. Pure. */
export function postedWindow(row: {
  readonly id: string
  readonly budget: string
  /** Its first day; of a window that never ends, any. */
  readonly day: number
  readonly amount: bigint
  readonly version: bigint
}): PostedWindow {
  const [scope = '', symbol = ''] = row.budget.split(':')
  return {
    scope: scopeOf(scope),
    ownerId: scope === 'k' || scope === 'o' ? row.id : `${row.id}.${scope}`,
    period: periodOf(symbol),
    day: row.day,
    postedNano: row.amount,
    version: row.version,
  }
}

function jsonOf({ requestId, chargeKind, organizationId, keyId, day, costNano, record }: BatchEntry) {
  return {
    request_id: requestId,
    rank: rankOf(chargeKind),
    organization_id: organizationId,
    key_id: keyId,
    day,
    cost: String(costNano),
    record,
  }
}
