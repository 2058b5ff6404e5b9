import type { ArchiveTable, requestTable } from './archive-table.ts'

/** A row of a table. 64-bit integers are text: JavaScript would round them. */
export type RowOf<Table extends ArchiveTable> = Readonly<Record<keyof Table['columns'], string>>

/** A request as the archive has it. */
export type ArchivedRow = RowOf<typeof requestTable>

/** Every column of the archive, of `requests r`. The version is the rank: only a higher one replaces what was posted. */
export const archivedRowSql = `
  r.organization_id::text as organization_id, (extract(epoch from r.ts) * 1000)::bigint::text as ts, r.id::text as id,
  r.rank::text as version, r.api_key_id::text as api_key_id, r.cost::text as cost,
  (r.day - date '1970-01-01')::text as day,
  coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked', '') as model, coalesce(r.record ->> 'outcome', '') as outcome,
  coalesce(r.record -> 'tokens' ->> 'input', '0') as input,
  coalesce(r.record -> 'tokens' ->> 'cachedInput', '0') as cached_input,
  coalesce(r.record -> 'tokens' ->> 'cacheWrite', '0') as cache_write,
  coalesce(r.record -> 'tokens' ->> 'output', '0') as output,
  coalesce(r.record -> 'tokens' ->> 'reasoning', '0') as reasoning,
  (extract(epoch from r.booked_at) * 1000000)::bigint::text as posted_at,
  (extract(epoch from r.updated_at) * 1000000)::bigint::text as updated_at,
  r.record::text as record`
