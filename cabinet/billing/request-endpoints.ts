import type { Pool } from 'pg'
import type { z } from 'zod'
import type { ArchiveStore } from '#core/archive/archive-store'
import { inReadScope } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { formatRub } from '#core/ledger/money'
import { requestIdOf } from '#core/ledger/request-id'
import { outcomeToShow } from '#core/ledger/request-record'
import { csvRows, exportBatch } from '../api/csv-rows.ts'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { writeCursor } from '../api/page.ts'
import { notFound } from '../api/problem.ts'
import { allRequests } from './all-requests.ts'
import { orOlderUnavailable } from './internal/older-unavailable.ts'
import { receiptOf } from './internal/receipt.ts'
import { readRequestFilter } from './internal/request-filter.ts'
import type { RequestRow } from './internal/request-rows.ts'
import { isBackwards, spanProblem } from './internal/span.ts'
import { shownTokens, tokenCells, tokenHeads } from './internal/token-fields.ts'
import { exportRequests, getRequest, listRequests } from './request-contracts.ts'

type Deps = {
  readonly pool: Pool
  /** Requests that left Postgres; absent: none should have left. */
  readonly archive?: ArchiveStore | undefined
}

type FilterQuery = z.output<(typeof exportRequests)['query']>

/** Endpoints for an organization's settled requests. */
export function requestEndpoints({ pool, archive }: Deps): readonly Endpoint[] {
  const requests = allRequests(pool, archive)
  const filterOf = (organizationId: string, query: FilterQuery) =>
    inReadScope(pool, organizationId, (client) => readRequestFilter(client, organizationId, query))

  return [
    endpoint(listRequests, async ({ caller: { organizationId }, query, visit }) =>
      orOlderUnavailable(async () => {
        const filter = await filterOf(organizationId, query)
        if (isBackwards(filter)) return { problem: spanProblem('backwards', 'from', visit.locale) }
        const place = { before: query.cursor?.request_id, limit: query.limit }
        const { rows, next } = await requests.page(organizationId, filter, place)
        const body = {
          data: rows.map(shownRow),
          next_cursor: next === undefined ? null : writeCursor({ request_id: next }),
        }
        return { status: 200, body } as const
      }),
    ),

    endpoint(exportRequests, async ({ caller: { organizationId }, query, visit }) =>
      orOlderUnavailable(async () => {
        const filter = await filterOf(organizationId, query)
        if (isBackwards(filter)) return { problem: spanProblem('backwards', 'from', visit.locale) }
        await requests.reach(organizationId, filter)
        const csv = await csvRows(csvHead, csvCells, (before: string | undefined) =>
          requests.page(organizationId, filter, { before, limit: exportBatch }),
        )
        return { status: 200, csv, fileName: 'requests.csv' } as const
      }),
    ),

    endpoint(getRequest, async ({ caller: { organizationId }, params }) =>
      orOlderUnavailable(async () => {
        const requestId = requestIdOf(params.request_id)
        const settled = isId(requestId) ? await requests.find(organizationId, requestId) : undefined
        if (settled === undefined) return notFound
        return { status: 200, body: { ...receiptOf(settled), api_key_name: settled.keyName } } as const
      }),
    ),
  ]
}

function shownRow({ id, createdAt, keyId, keyName, cost, record }: RequestRow) {
  return {
    id,
    created_at: createdAt.toISOString(),
    api_key_id: keyId,
    api_key_name: keyName,
    endpoint: record.endpoint,
    model_asked: record.modelAsked,
    model_ran: record.modelRan,
    outcome: outcomeToShow(record.outcome),
    status: record.status,
    error_code: record.errorCode,
    stream: record.stream,
    tokens: shownTokens(record.tokens),
    cost_rub: formatRub(cost),
    total_ms: record.totalMs,
  } satisfies z.input<(typeof listRequests.answers)[200]>['data'][number]
}

const csvHead = [
  'id',
  'created_at',
  'api_key_id',
  'api_key_name',
  'endpoint',
  'model_asked',
  'model_ran',
  'outcome',
  'status',
  'error_code',
  'stream',
  ...tokenHeads,
  'cost_rub',
  'total_ms',
]

function csvCells(row: RequestRow): readonly (string | number | null)[] {
  const { tokens: _, cost_rub, total_ms, stream, ...shown } = shownRow(row)
  return [...Object.values(shown), String(stream), ...tokenCells(row.record.tokens), cost_rub, total_ms]
}
