import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import { type RequestOutcome, type RequestRecord, requestRecordSchema } from '#core/ledger/request-record'
import type { Piece } from '../../api/csv-rows.ts'
import { allOf, type Condition } from './conditions.ts'
import type { Span } from './span.ts'

/** A settled request in a list. */
export type RequestRow = {
  readonly id: string
  readonly createdAt: Date
  readonly keyId: string
  readonly keyName: string | null
  readonly cost: NanoRub
  readonly record: RequestRecord
}

export type RequestFilter = Span & {
  readonly keyId?: string | undefined
  /** The model that ran, or the requested model if none ran. */
  readonly model?: string | undefined
  readonly outcome?: RequestOutcome | undefined
}

type Row = Omit<RequestRow, 'cost' | 'record'> & { readonly cost: bigint; readonly record: unknown }

/** Rows that one page scans for matches of a filter: about 20 ms. */
const scannedMax = 10_000

/**
 * At most `limit` of an organization's settled requests, newest first, starting after the request `before`.
 *
 * With a filter, a page may have fewer rows, or none, and still have a next page, because the scan is bounded.
 */
export async function readRequests(
  client: Queryable,
  organizationId: string,
  filter: RequestFilter,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<Piece<RequestRow, string>> {
  const place = placeOf(organizationId, filter, before)
  const wanted = wantedBy(filter)
  const { sql, values } = allOf([...place, ...wanted])
  const { sql: placeSql } = allOf(place)
  const isFiltered = wanted.length > 0
  const source = isFiltered
    ? `(select * from requests where ${placeSql} order by ts desc, id desc limit ${scannedMax}) r`
    : 'requests'
  const { rows } = await client.query<Row>(
    `select r.id, r.ts as "createdAt", r.api_key_id as "keyId", k.name as "keyName", r.cost, r.record
       from (select * from ${source} where ${sql} order by ts desc, id desc limit ${limit + 1}) r
       left join api_keys k on k.id = r.api_key_id and k.organization_id = r.organization_id
      order by r.ts desc, r.id desc`,
    values,
  )
  const page = rows.slice(0, limit).map(requestOf)
  if (rows.length > limit) return { rows: page, next: page.at(-1)?.id }
  return { rows: page, next: isFiltered ? await findLastScanned(client, place) : undefined }
}

/** The range of rows in the index. The time of a request is the time in its ID. */
function placeOf(
  organizationId: string,
  { from, to }: Span,
  before: string | undefined,
): readonly (Condition | false)[] {
  return [
    ['organization_id = ?', organizationId],
    from !== null && ['ts >= ?', from],
    to !== null && ['ts < ?', to],
    before !== undefined && ['(ts, id) < (uuid_time(?), ?)', before, before],
  ]
}

function wantedBy({ keyId, model, outcome }: RequestFilter): readonly Condition[] {
  return [
    keyId !== undefined && (['api_key_id = ?', keyId] as const),
    model !== undefined && (["coalesce(record ->> 'modelRan', record ->> 'modelAsked') = ?", model] as const),
    outcome !== undefined && (["record ->> 'outcome' = ?", outcome] as const),
  ].filter((condition) => condition !== false)
}

/** The last row that a page scanned, if there may be more after it. */
async function findLastScanned(
  client: Queryable,
  place: readonly (Condition | false)[],
): Promise<string | undefined> {
  const { sql, values } = allOf(place)
  const { rows } = await client.query<{ id: string }>(
    `select id from requests where ${sql} order by ts desc, id desc offset ${scannedMax - 1} limit 1`,
    values,
  )
  return rows[0]?.id
}

function requestOf({ cost, record, ...row }: Row): RequestRow {
  return { ...row, cost: nanoRub(cost), record: requestRecordSchema.parse(record) }
}
