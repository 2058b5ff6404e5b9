import { z } from 'zod'
import { timeInId } from '../db/id.ts'
import type { ArchiveStore } from './archive-store.ts'
import { requestTable } from './internal/archive-table.ts'

/** A request as the archive has it, in its latest version. */
export type ArchivedRequest = {
  readonly id: string
  readonly createdAt: Date
  readonly keyId: string
  readonly costNano: bigint
  /** As Postgres had it. */
  readonly record: unknown
}

export type ArchivedFilter = {
  /** The first instant, or `null`. */
  readonly from: Date | null
  /** The first instant that is not asked for. */
  readonly to: Date
  readonly keyId?: string | undefined
  readonly model?: string | undefined
  /** A part of its name, in lower case. */
  readonly modelContains?: string | undefined
  readonly outcome?: string | undefined
  /** Both inclusive. */
  readonly costFrom?: bigint | undefined
  readonly costTo?: bigint | undefined
  readonly id?: string | undefined
  /** A part of the id, in lower case. */
  readonly idContains?: string | undefined
}

/**
 * At most `limit` of an organization's requests, newest first, after the request `before`.
 *
 * @throws ArchiveUnavailable
 */
export async function readArchived(
  store: ArchiveStore,
  organizationId: string,
  filter: ArchivedFilter,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<readonly ArchivedRequest[]> {
  const place = placeOf(organizationId, filter, before)
  const wanted = wantedBy(filter)
  // Only the latest version decides; without a filter any does. Records are large, and old servers sort all rows before they
  // take the first ones: records are read of the rows that were found.
  const [final, once] = wanted.length === 0 ? ['', 'limit 1 by id'] : ['final', '']
  const found = await store.read(
    `select toString(id) as id_text, toString(ts) as ts_text from ${requestTable.name} ${final}
      where ${[...place, ...wanted].join(' and ')} order by ts desc, id_text desc ${once} limit ${limit}`,
    z.object({ id_text: z.string(), ts_text: z.string() }),
  )
  const times = found.map(({ ts_text }) => Number(ts_text))
  if (times.length === 0) return []
  const ids = found.map(({ id_text }) => `toUUID(${text(id_text)})`)
  const span = `ts >= ${Math.min(...times)} and ts <= ${Math.max(...times)}`
  return readRows(store, [ofOrganization(organizationId), span, `id in (${ids.join(', ')})`], limit)
}

/** A request of an organization, or of any. @throws ArchiveUnavailable */
export async function findArchived(
  store: ArchiveStore,
  organizationId: string,
  id: string,
): Promise<ArchivedRequest | undefined> {
  const [row] = await readRows(store, [ofOrganization(organizationId), ...withId(id)], 1)
  return row
}

/** The organization of a request. @throws ArchiveUnavailable */
export async function findOrganizationOfArchived(
  store: ArchiveStore,
  id: string,
): Promise<string | undefined> {
  const [row] = await store.read(
    `select toString(organization_id) as organization from ${requestTable.name} where ${withId(id).join(' and ')} limit 1`,
    z.object({ organization: z.string() }),
  )
  return row?.organization
}

const rowSchema = z.object({
  id_text: z.string(),
  ts_text: z.string(),
  key_text: z.string(),
  cost_text: z.string(),
  record: z.string(),
})

/** The latest version of each of these requests, newest first. */
async function readRows(
  store: ArchiveStore,
  conditions: readonly string[],
  limit: number,
): Promise<readonly ArchivedRequest[]> {
  const rows = await store.read(
    `select toString(id) as id_text, toString(ts) as ts_text, toString(api_key_id) as key_text,
            toString(cost) as cost_text, record
       from ${requestTable.name} where ${conditions.join(' and ')}
      order by ts desc, id_text desc, version desc limit 1 by id limit ${limit}`,
    rowSchema,
  )
  return rows.map(({ id_text, ts_text, key_text, cost_text, record }) => ({
    id: id_text,
    createdAt: new Date(Number(ts_text)),
    keyId: key_text,
    costNano: BigInt(cost_text),
    record: JSON.parse(record),
  }))
}

function placeOf(
  organizationId: string,
  { from, to }: ArchivedFilter,
  before: string | undefined,
): readonly string[] {
  const conditions = [ofOrganization(organizationId), `ts < ${to.getTime()}`]
  if (from !== null) conditions.push(`ts >= ${from.getTime()}`)
  if (before !== undefined) {
    const at = timeInId(before)
    conditions.push(`ts <= ${at}`, `(ts < ${at} or toString(id) < ${text(before.toLowerCase())})`)
  }
  return conditions
}

function wantedBy(filter: ArchivedFilter): readonly string[] {
  const { keyId, model, modelContains, outcome, costFrom, costTo, id, idContains } = filter
  return [
    keyId !== undefined && `api_key_id = toUUID(${text(keyId)})`,
    model !== undefined && `model = ${text(model)}`,
    modelContains !== undefined && `position(lowerUTF8(model), ${text(modelContains)}) > 0`,
    outcome !== undefined && `outcome = ${text(outcome)}`,
    costFrom !== undefined && `cost >= ${costFrom}`,
    costTo !== undefined && `cost <= ${costTo}`,
    idContains !== undefined && `position(toString(id), ${text(idContains)}) > 0`,
    ...(id === undefined ? [] : withId(id)),
  ].filter((condition) => condition !== false)
}

function ofOrganization(organizationId: string): string {
  return `organization_id = toUUID(${text(organizationId)})`
}

function withId(id: string): readonly string[] {
  return [`ts = ${timeInId(id)}`, `id = toUUID(${text(id)})`]
}

/** A literal. ClickHouse 18.16 takes no parameters. */
function text(value: string): string {
  return `'${value.replace(/[\\']/g, '\\$&')}'`
}
