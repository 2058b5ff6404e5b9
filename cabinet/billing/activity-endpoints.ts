import type { Pool } from 'pg'
import type { z } from 'zod'
import type { ArchiveStore } from '#core/archive/archive-store'
import { inReadScope } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { errorRows } from '#core/errors/refusal'
import { readKeyNames } from '#core/keys/key-state'
import { formatRub } from '#core/ledger/money'
import { outcomeToShow } from '#core/ledger/request-record'
import type { RedisServers } from '#core/redis/redis-connection'
import { type Endpoint, endpoint, type Input } from '../api/endpoint.ts'
import { writeCursor } from '../api/page.ts'
import { countRejections, listActivity } from './activity-contracts.ts'
import { allRequests } from './all-requests.ts'
import { scopeOfBudget } from './budget-scope.ts'
import { countBy, findRejections, keptSince } from './internal/kept-rejections.ts'
import { type Activity, isWanted, mergeActivity } from './internal/merged-activity.ts'
import { orOlderUnavailable } from './internal/older-unavailable.ts'
import { readRequestFilter } from './internal/request-filter.ts'
import type { RequestFilter } from './internal/request-rows.ts'
import { isBackwards, readSpan, spanProblem } from './internal/span.ts'
import { shownTokens } from './internal/token-fields.ts'
import { readUsageSince, readUsageSums } from './internal/usage-rows.ts'

type Deps = {
  readonly pool: Pool
  readonly redis: RedisServers
  /** Requests that left Postgres; absent: none should have left. */
  readonly archive?: ArchiveStore | undefined
}
type Query = Input<typeof listActivity>['query']
type Body = z.input<(typeof listActivity.answers)[200]>

/** One log of settled and rejected requests. */
export function activityEndpoints({ pool, redis, archive }: Deps): readonly Endpoint[] {
  const requests = allRequests(pool, archive)
  return [
    endpoint(listActivity, async ({ caller: { organizationId }, query, visit }) =>
      orOlderUnavailable(async () => {
        const refusals = query.type === 'request' ? [] : await findRejections(redis, organizationId)
        const filter = await inReadScope(pool, organizationId, (client) =>
          readRequestFilter(client, organizationId, query),
        )
        if (isBackwards(filter)) return { problem: spanProblem('backwards', 'from', visit.locale) }
        const place = { before: query.cursor?.request_id, limit: query.limit }
        const settled =
          query.type === 'rejection'
            ? { rows: [], next: undefined }
            : await requests.page(organizationId, filter, place)
        const wanted = (refusals ?? []).filter((refused) => isWanted(refused, filter))
        const { rows, next } = mergeActivity(settled, wanted, place)
        return inReadScope(pool, organizationId, async (client) => {
          const body: Body = {
            data: await show(client, organizationId, rows),
            next_cursor: next === undefined ? null : writeCursor({ request_id: next }),
            rejections:
              query.type === 'request'
                ? null
                : { live: refusals !== undefined, count: wanted.length, since: keptSince(refusals) },
            totals: await findTotals(client, organizationId, filter, query),
          }
          return { status: 200, body } as const
        })
      }),
    ),

    endpoint(countRejections, async ({ caller: { organizationId }, query, visit }) => {
      const kept = await findRejections(redis, organizationId)
      return inReadScope(pool, organizationId, async (client) => {
        const span = await readSpan(client, organizationId, query)
        if (isBackwards(span)) return { problem: spanProblem('backwards', 'from', visit.locale) } as const
        const wanted = (kept ?? []).filter((refused) => isWanted(refused, span))
        const keys = countBy(wanted, ({ keyId }) => keyId)
        const names = await readKeyNames(
          client,
          organizationId,
          keys.map(({ value }) => value),
        )
        const body = {
          live: kept !== undefined,
          since: keptSince(kept),
          count: wanted.length,
          by_code: countBy(wanted, ({ code }) => code).map(({ value, count }) => ({ code: value, count })),
          by_key: keys.map(({ value, count }) => ({
            api_key_id: value,
            api_key_name: names.get(value) ?? null,
            count,
          })),
        }
        return { status: 200, body } as const
      })
    }),
  ]
}

const hourMs = 3_600_000

/** As far as the usage goes back, too: 400 days. */
const totalsMsMax = 400 * 86_400_000

/** Sums are kept by hour, key (so by tag), model and provider: other filters have no totals, and neither has an open or longer span. */
async function findTotals(
  client: Queryable,
  organizationId: string,
  { from, to, keyId, keyIds, model, provider }: RequestFilter,
  query: Query,
): Promise<Body['totals']> {
  const { key_id, tag, model: _, provider: __, from: ___, to: ____, limit, type, ...others } = query
  const isSummed = Object.values(others).every((value) => value === undefined) && type !== 'rejection'
  const isWhole = (end: Date | null) => end === null || end.getTime() % hourMs === 0
  if (!isSummed || from === null || !isWhole(from) || !isWhole(to)) return null
  if ((to?.getTime() ?? Date.now()) - from.getTime() > totalsMsMax) return null
  const since = provider === undefined ? null : await readUsageSince(client)
  if (since !== null && from < since) return null
  const { requests, cost } = await readUsageSums(client, organizationId, {
    from,
    to,
    keyId,
    keyIds,
    model,
    provider,
  })
  return { requests, cost_rub: formatRub(cost) }
}

async function show(
  client: Queryable,
  organizationId: string,
  rows: readonly Activity[],
): Promise<Body['data']> {
  const keyIds = rows.flatMap((row) => (row.type === 'rejection' ? row.refused.keyId : []))
  const names = await readKeyNames(client, organizationId, [...new Set(keyIds)])
  return rows.map((row) => (row.type === 'request' ? showRequest(row) : showRejection(row, names)))
}

function showRequest({ request }: Activity & { readonly type: 'request' }): Body['data'][number] {
  const { id, createdAt, keyId, keyName, cost, record } = request
  return {
    type: 'request',
    id,
    created_at: createdAt.toISOString(),
    api_key_id: keyId,
    api_key_name: keyName,
    model: record.modelRan ?? record.modelAsked,
    provider: record.attempts.at(-1)?.provider ?? null,
    status: record.status,
    error_code: record.errorCode,
    budget: null,
    scope: null,
    outcome: outcomeToShow(record.outcome),
    stream: record.stream,
    attempts: record.attempts.length,
    tokens: shownTokens(record.tokens),
    cost_rub: formatRub(cost),
    first_content_ms: record.firstContentMs,
    total_ms: record.totalMs,
  }
}

function showRejection(
  { refused, atMs }: Activity & { readonly type: 'rejection' },
  names: ReadonlyMap<string, string>,
): Body['data'][number] {
  const { requestId, keyId, model, code, budget } = refused
  return {
    type: 'rejection',
    id: requestId,
    created_at: new Date(atMs).toISOString(),
    api_key_id: keyId,
    api_key_name: names.get(keyId) ?? null,
    model,
    provider: null,
    status: errorRows[code][0],
    error_code: code,
    budget,
    scope: budget === null ? null : scopeOfBudget(budget),
    outcome: null,
    stream: null,
    attempts: null,
    tokens: null,
    cost_rub: null,
    first_content_ms: null,
    total_ms: null,
  }
}
