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
  /** One of these keys. */
  readonly keyIds?: ReadonlySet<string> | undefined
  /** The model that ran, or the requested model if none ran. */
  readonly model?: string | undefined
  /** A part of its name, in lower case. */
  readonly modelContains?: string | undefined
  /** Of the last attempt, in lower case; `-`: there was none. */
  readonly provider?: string | undefined
  readonly outcome?: RequestOutcome | undefined
  /** `429`, a class such as `4xx`, or `error`. */
  readonly status?: string | undefined
  /** In lower case, as all codes are. */
  readonly errorCode?: string | undefined
  /** Both inclusive. */
  readonly costFrom?: NanoRub | undefined
  readonly costTo?: NanoRub | undefined
  readonly id?: string | undefined
  /** A part of the id, in lower case. */
  readonly idContains?: string | undefined
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

/** The range of rows in an index: of the organization, or of one of its keys. The time of a request is the time in its ID. */
function placeOf(
  organizationId: string,
  { from, to, keyId, id }: RequestFilter,
  before: string | undefined,
): readonly (Condition | false)[] {
  return [
    ['organization_id = ?', organizationId],
    keyId !== undefined && ['api_key_id = ?', keyId],
    from !== null && ['ts >= ?', from],
    to !== null && ['ts < ?', to],
    id !== undefined && ['ts = uuid_time(?) and id = ?', id, id],
    before !== undefined && ['(ts, id) < (uuid_time(?), ?)', before, before],
  ]
}

const model = "coalesce(record ->> 'modelRan', record ->> 'modelAsked')"

function wantedBy(filter: RequestFilter): readonly Condition[] {
  const { status } = filter
  const found: readonly (readonly [sql: string, value: unknown])[] = [
    [`${model} = ?`, filter.model],
    [`position(? in lower(${model})) > 0`, filter.modelContains],
    ["coalesce(nullif(lower(record -> 'attempts' -> -1 ->> 'provider'), ''), '-') = ?", filter.provider],
    ['api_key_id = any (?::uuid[])', filter.keyIds && [...filter.keyIds]],
    ["record ->> 'outcome' = ?", filter.outcome],
    ["record ->> 'status' like ?", status === 'error' ? undefined : status?.replace('xx', '__')],
    ['is_failed(record) = ?', status === 'error' ? true : undefined],
    ["record ->> 'errorCode' = ?", filter.errorCode],
    ['cost >= ?', filter.costFrom],
    ['cost <= ?', filter.costTo],
    ['position(? in id::text) > 0', filter.idContains],
  ]
  return found.filter(([, value]) => value !== undefined)
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
