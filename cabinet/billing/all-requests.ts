import type { Pool } from 'pg'
import { type ArchiveStore, ArchiveUnavailable } from '#core/archive/archive-store'
import {
  type ArchivedFilter,
  type ArchivedRequest,
  findArchived,
  findOrganizationOfArchived,
  readArchived,
} from '#core/archive/archived-requests'
import { inReadScope } from '#core/audit/scope'
import { readKeyNames } from '#core/keys/key-state'
import { nanoRub } from '#core/ledger/money'
import { requestRecordSchema } from '#core/ledger/request-record'
import type { Piece } from '../api/csv-rows.ts'
import { findOlderReach, findPrice, isWantedRecord, type OlderReach } from './internal/older-requests.ts'
import { findSettledRequest, type SettledRequest } from './internal/receipt-store.ts'
import { type RequestFilter, type RequestRow, readRequests } from './internal/request-rows.ts'

/** Requests of the archive that one page reads for matches of a filter on their records: about 1 MB. */
const scannedMax = 1_000

type Page = { readonly before: string | undefined; readonly limit: number }

/**
 * Every settled request of an organization: from Postgres if its partition is kept, from the archive if it left. A page may
 * have both. Requests that left while the archive does not answer: ArchiveUnavailable; others are not affected.
 */
export type AllRequests = {
  /** At most `limit` requests, newest first; as `readRequests`. */
  page(organizationId: string, filter: RequestFilter, page: Page): Promise<Piece<RequestRow, string>>
  /** Reads whether the archive answers, if the span needs it: an export must not end halfway. */
  reach(organizationId: string, filter: RequestFilter): Promise<void>
  /** A settled request. `undefined` if it is unknown, not settled yet, or of another organization. */
  find(organizationId: string, requestId: string): Promise<SettledRequest | undefined>
  /** The organization of a request that left Postgres. */
  findOrganization(requestId: string): Promise<string | undefined>
}

/** @param archive `undefined`: the process has no URL of it; then nothing should have left Postgres. */
export function allRequests(pool: Pool, archive: ArchiveStore | undefined): AllRequests {
  const olderIn = (organizationId: string) =>
    inReadScope(pool, organizationId, (client) => findOlderReach(client, organizationId))

  async function readOlder(
    organizationId: string,
    filter: RequestFilter & ArchivedFilter,
    { before, limit }: Page,
  ): Promise<Piece<RequestRow, string>> {
    const { provider, status, errorCode, keyIds } = filter
    const isScanned = [provider, status, errorCode, keyIds].some((value) => value !== undefined)
    const readMax = isScanned ? scannedMax : limit + 1
    const read = await readArchived(open(archive), organizationId, filter, { before, limit: readMax })
    const names = await inReadScope(pool, organizationId, (client) =>
      readKeyNames(client, organizationId, [...new Set(read.map(({ keyId }) => keyId))]),
    )
    const found = read
      .map((request) => rowOf(request, names))
      .filter(({ keyId, record }) => keyIds?.has(keyId) !== false && isWantedRecord(record, filter))
    const rows = found.slice(0, limit)
    if (found.length > limit) return { rows, next: rows.at(-1)?.id }
    return { rows, next: read.length === readMax ? read.at(-1)?.id : undefined }
  }

  return {
    async page(organizationId, filter, page) {
      if (filter.keyIds?.size === 0) return { rows: [], next: undefined } // no key has the tag
      const recent = await inReadScope(pool, organizationId, (client) =>
        readRequests(client, organizationId, filter, page),
      )
      if (recent.next !== undefined) return recent
      // Read after the rows: a partition may leave in between, and its rows are then in one of both at least.
      const reach = await olderIn(organizationId)
      if (!reaches(filter, reach)) return recent
      const last = recent.rows.at(-1)?.id
      const limit = page.limit - recent.rows.length
      if (limit === 0) return { rows: recent.rows, next: last }
      try {
        const place = { before: last ?? page.before, limit }
        const older = await readOlder(organizationId, olderPart(filter, reach), place)
        return { rows: [...recent.rows, ...older.rows], next: older.next }
      } catch (error) {
        // The page ends where the archive begins, and only the next one fails.
        if (error instanceof ArchiveUnavailable && last !== undefined)
          return { rows: recent.rows, next: last }
        throw error
      }
    },
    async reach(organizationId, filter) {
      if (reaches(filter, await olderIn(organizationId))) await open(archive).check()
    },
    async find(organizationId, requestId) {
      const recent = await inReadScope(pool, organizationId, (client) =>
        findSettledRequest(client, organizationId, requestId),
      )
      if (recent !== undefined) return recent
      const reach = await inReadScope(pool, organizationId, (client) =>
        findOlderReach(client, organizationId, requestId),
      )
      if (reach === undefined) return undefined
      const older = await findArchived(open(archive), organizationId, requestId)
      if (older === undefined) return undefined
      return inReadScope(pool, organizationId, async (client) => {
        const row = rowOf(older, await readKeyNames(client, organizationId, [older.keyId]))
        return { ...row, price: await findPrice(client, row.record.priceId) }
      })
    },
    findOrganization: async (requestId) =>
      archive === undefined ? undefined : findOrganizationOfArchived(archive, requestId),
  }
}

function open(archive: ArchiveStore | undefined): ArchiveStore {
  if (archive === undefined) throw new ArchiveUnavailable(new Error('CLICKHOUSE_URL is not set'))
  return archive
}

/** Whether requests of the organization in this span have left Postgres. Pure. */
function reaches({ from, to }: RequestFilter, reach: OlderReach | undefined): reach is OlderReach {
  if (reach === undefined) return false
  return (from === null || from < reach.keptFrom) && (to === null || to > reach.firstRequestAt)
}

function olderPart(filter: RequestFilter, { keptFrom }: OlderReach) {
  return { ...filter, to: filter.to === null || filter.to > keptFrom ? keptFrom : filter.to }
}

function rowOf(
  { id, createdAt, keyId, costNano, record }: ArchivedRequest,
  names: ReadonlyMap<string, string>,
): RequestRow {
  const keyName = names.get(keyId) ?? null
  return { id, createdAt, keyId, keyName, cost: nanoRub(costNano), record: requestRecordSchema.parse(record) }
}
