import type { Pool } from 'pg'
import type { z } from 'zod'
import { inReadScope } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { formatRub } from '#core/ledger/money'
import type { Locale } from '../api/access.ts'
import { csvRows } from '../api/csv-rows.ts'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import type { Problem } from '../api/problem.ts'
import { percentileMs, shownDurations } from './durations.ts'
import { readLedgerTotal } from './internal/ledger-rows.ts'
import { type BoundedSpan, isBackwards, readSpan, type SpanEnd, spanProblem } from './internal/span.ts'
import { shownTokens, tokenCells, tokenHeads } from './internal/token-fields.ts'
import {
  readParts,
  readUsage,
  readUsageSince,
  totalOf,
  type UsageQuestion,
  type UsageRow,
  type UsageSums,
} from './internal/usage-rows.ts'
import { exportUsage, getUsage } from './usage-contracts.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Longest time spans, plus one hour for clocks that are set back. */
const spanMsMax = { hours: 31 * dayMs + hourMs, days: 400 * dayMs + hourMs } as const
/** Rows of one response; about 3 MB. */
const rowCountMax = 10_000

/** Endpoints for an organization's usage. Its totals equal the ledger. */
export function usageEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(getUsage, async ({ caller: { organizationId }, query, visit: { locale } }) =>
      // One snapshot, so that usage and ledger are consistent.
      inReadScope(pool, organizationId, async (client) => {
        const asked = await readQuestion(client, organizationId, query, locale, query.durations === 'true')
        if ('problem' in asked) return asked
        const since = await readUsageSince(client)
        const rows = await readUsage(client, organizationId, asked, rowCountMax + 1)
        if (rows.length > rowCountMax) return { problem: spanProblem('too_many_rows', 'to', locale) }
        // A key with two tags is in two rows, and in the totals once.
        const whole =
          asked.groupBy === 'tag'
            ? await readUsage(
                client,
                organizationId,
                { ...asked, groupBy: 'provider', bucket: 'month' },
                'all',
              )
            : rows
        const ledgerTotal = await readLedgerTotal(client, organizationId, asked)
        const body = {
          from: asked.from.toISOString(),
          to: asked.to.toISOString(),
          time_zone: asked.timeZone,
          bucket: asked.bucket,
          group_by: asked.groupBy,
          data: rows.map(shownRow),
          totals: shownSums(totalOf(whole)),
          details_since: since === null ? null : since.toISOString(),
          ledger_total_rub: formatRub(ledgerTotal),
        }
        return { status: 200, body } as const
      }),
    ),

    endpoint(exportUsage, async ({ caller: { organizationId }, query, visit: { locale } }) => {
      const read = <Answer>(work: (client: Queryable) => Promise<Answer>) =>
        inReadScope(pool, organizationId, work)
      const asked = await read((client) => readQuestion(client, organizationId, query, locale, true))
      if ('problem' in asked) return asked
      const parts = await read((client) => readParts(client, asked))
      const csv = await csvRows(csvHead, csvCells, async (position: number | undefined) => {
        const [part, ...rest] = parts.slice(position ?? 0)
        if (part === undefined) return { rows: [], next: undefined }
        const rows = await read((client) => readUsage(client, organizationId, { ...asked, ...part }, 'all'))
        return { rows, next: rest.length === 0 ? undefined : (position ?? 0) + 1 }
      })
      return { status: 200, csv, fileName: 'usage.csv' } as const
    }),
  ]
}

type Query = {
  readonly from: SpanEnd
  readonly to: SpanEnd
  readonly bucket: UsageQuestion['bucket']
  readonly group_by: UsageQuestion['groupBy']
}

/** The query's time span in instants, or the problem with it. */
async function readQuestion(
  client: Queryable,
  organizationId: string,
  query: Query,
  locale: Locale,
  hasDurations: boolean,
): Promise<UsageQuestion | { readonly problem: Problem }> {
  const { from, to, timeZone } = await readSpan(client, organizationId, query)
  if (from === null || to === null) throw new Error('a requested time span has no instants')
  const { bucket, group_by: groupBy } = query
  const problem = findProblem({ from, to }, bucket, locale)
  return problem === undefined ? { from, to, timeZone, bucket, groupBy, hasDurations } : { problem }
}

/** Usage is kept by the hour, so parts of an hour are rejected. Pure. */
function findProblem(
  span: BoundedSpan,
  bucket: UsageQuestion['bucket'],
  locale: Locale,
): Problem | undefined {
  const { from, to } = span
  if (isBackwards(span)) return spanProblem('backwards', 'from', locale)
  if (from.getTime() % hourMs !== 0) return spanProblem('whole_hours', 'from', locale)
  if (to.getTime() % hourMs !== 0) return spanProblem('whole_hours', 'to', locale)
  const unit = bucket === 'hour' ? 'hours' : 'days'
  return to.getTime() - from.getTime() <= spanMsMax[unit] ? undefined : spanProblem(unit, 'to', locale)
}

function shownSums({ requests, tokens, cost, errors, durations }: UsageSums) {
  return {
    requests,
    tokens: shownTokens(tokens),
    cost_rub: formatRub(cost),
    errors,
    duration_p50_ms: percentileMs(durations, 0.5),
    duration_p95_ms: percentileMs(durations, 0.95),
    durations: shownDurations(durations),
  }
}

function shownRow(row: UsageRow): z.input<(typeof getUsage.answers)[200]>['data'][number] {
  return {
    start: row.start.toISOString(),
    model: row.model,
    api_key_id: row.keyId,
    api_key_name: row.keyName,
    provider: row.provider,
    tag: row.tag,
    ...shownSums(row),
  }
}

const csvHead = [
  'start',
  'model',
  'api_key_id',
  'api_key_name',
  'requests',
  ...tokenHeads,
  'cost_rub',
  'provider',
  'errors',
  'duration_p50_ms',
  'duration_p95_ms',
  'tag',
]

function csvCells(row: UsageRow): readonly (string | number | null)[] {
  const { start, model, api_key_id, api_key_name, requests, cost_rub, ...shown } = shownRow(row)
  const { provider, errors, duration_p50_ms, duration_p95_ms, tag } = shown
  return [
    start,
    model,
    api_key_id,
    api_key_name,
    requests,
    ...tokenCells(row.tokens),
    cost_rub,
    provider,
    errors,
    duration_p50_ms,
    duration_p95_ms,
    tag,
  ]
}
