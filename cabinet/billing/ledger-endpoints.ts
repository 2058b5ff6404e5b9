import type { Pool } from 'pg'
import type { z } from 'zod'
import type { ArchiveStore } from '#core/archive/archive-store'
import { inReadScope } from '#core/audit/scope'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import { csvRows, exportBatch } from '../api/csv-rows.ts'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { writeCursor } from '../api/page.ts'
import { allEntries } from './all-entries.ts'
import { readBalanceRow, readBonuses } from './internal/balance-row.ts'
import type { LedgerRow } from './internal/ledger-rows.ts'
import { orOlderUnavailable } from './internal/older-unavailable.ts'
import { isBackwards, readSpan, spanProblem } from './internal/span.ts'
import { shownTokens, tokenCells, tokenHeads } from './internal/token-fields.ts'
import { exportLedger, getBalance, listBonuses, listLedger } from './ledger-contracts.ts'

export type LedgerDeps = {
  readonly pool: Pool
  /** Charges that left Postgres; absent: none should have left. */
  readonly archive?: ArchiveStore | undefined
  /** The money of an organization as gateways see it now; `undefined` if unknown. */
  readonly readLiveSums: (organizationId: string) => Promise<LiveSums | undefined>
}

/**
 * `posted`: the balance that gateways use; `pending`: charges not in it yet; `held`: funds reserved for running
 * requests.
 */
type LiveSums = { readonly posted: NanoRub; readonly pending: NanoRub; readonly held: NanoRub }

/** Endpoints for an organization's balance and ledger. */
export function ledgerEndpoints({ pool, archive, readLiveSums }: LedgerDeps): readonly Endpoint[] {
  const entries = allEntries(pool, archive)
  const filterOf = async (
    organizationId: string,
    { kind, ...asked }: z.output<(typeof exportLedger)['query']>,
  ) => ({
    kind,
    ...(await inReadScope(pool, organizationId, (client) => readSpan(client, organizationId, asked))),
  })
  return [
    endpoint(getBalance, async ({ caller: { organizationId } }) => {
      const [sums, row] = await Promise.all([
        readLiveSums(organizationId),
        inReadScope(pool, organizationId, (client) => readBalanceRow(client, organizationId)),
      ])
      return { status: 200, body: balanceBody(row, sums) } as const
    }),

    endpoint(listLedger, async ({ caller: { organizationId }, query, visit }) =>
      orOlderUnavailable(async () => {
        const filter = await filterOf(organizationId, query)
        if (isBackwards(filter)) return { problem: spanProblem('backwards', 'from', visit.locale) }
        const place = { before: query.cursor?.ledger_seq, limit: query.limit }
        const { rows, next } = await entries.page(organizationId, filter, place)
        const body = {
          data: rows.map(shownRow),
          next_cursor: next === undefined ? null : writeCursor({ ledger_seq: String(next) }),
        }
        return { status: 200, body } as const
      }),
    ),

    endpoint(exportLedger, async ({ caller: { organizationId }, query, visit }) =>
      orOlderUnavailable(async () => {
        const filter = await filterOf(organizationId, query)
        if (isBackwards(filter)) return { problem: spanProblem('backwards', 'from', visit.locale) }
        await entries.reach(organizationId, filter)
        const csv = await csvRows(csvHead, csvCells, (before: bigint | undefined) =>
          entries.page(organizationId, filter, { before, limit: exportBatch }),
        )
        return { status: 200, csv, fileName: 'ledger.csv' } as const
      }),
    ),

    endpoint(listBonuses, async ({ caller: { organizationId } }) => {
      const bonuses = await inReadScope(pool, organizationId, (client) => readBonuses(client, organizationId))
      const data = bonuses.map(({ id, kind, amount, grantedAt, reversedAt }) => ({
        id,
        kind,
        amount_rub: formatRub(amount),
        granted_at: grantedAt.toISOString(),
        reversed_at: reversedAt?.toISOString() ?? null,
      }))
      return { status: 200, body: { data } } as const
    }),
  ]
}

function balanceBody(
  { balance, threshold }: { readonly balance: NanoRub; readonly threshold: NanoRub | null },
  sums: LiveSums | undefined,
): z.input<(typeof getBalance.answers)[200]> {
  const shown = (amount: NanoRub | null) => (amount === null ? null : formatRub(amount))
  return {
    balance_rub: formatRub(balance),
    live: sums !== undefined,
    pending_rub: shown(sums?.pending ?? null),
    held_rub: shown(sums?.held ?? null),
    available_rub: shown(sums === undefined ? null : nanoRub(sums.posted - sums.pending - sums.held)),
    low_balance_threshold_rub: shown(threshold),
  }
}

function shownRow(row: LedgerRow): z.input<(typeof listLedger.answers)[200]>['data'][number] {
  return {
    seq: String(row.seq),
    created_at: row.ts.toISOString(),
    kind: row.kind,
    ref_id: row.refId,
    amount_rub: formatRub(row.amount),
    balance_after_rub: formatRub(row.balanceAfter),
    api_key_id: row.keyId,
    api_key_name: row.keyName,
    model: row.model,
    tokens: row.tokens === null ? null : shownTokens(row.tokens),
  }
}

const csvHead = [
  'seq',
  'created_at',
  'kind',
  'ref_id',
  'amount_rub',
  'balance_after_rub',
  'api_key_id',
  'api_key_name',
  'model',
  ...tokenHeads,
]

function csvCells(row: LedgerRow): readonly (string | number | null)[] {
  const { tokens: _, ...shown } = shownRow(row)
  return [...Object.values(shown), ...tokenCells(row.tokens)]
}
