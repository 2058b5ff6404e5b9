import { requestTable } from './archive-table.ts'
import { archivedRowSql } from './archived-row.ts'
import { type Compared, inSpanSql } from './compare.ts'

/** Requests on both sides. Those that are noted, or not noted yet, wait to be copied. */
export const comparedRequests: Compared = {
  table: requestTable,
  rows: `select ${archivedRowSql} from requests r where ${inSpanSql('r.ts', 'r.id')}`,
  id: 'id',
  cost: 'cost',
  tokens: ['input', 'cached_input', 'cache_write', 'output', 'reasoning'],
  isWaiting: `(a.id::uuid in (select unnest(ids) from archive_outbox)
               or exists (select from archive where noted_at is null and a.id::uuid > noted_to))`,
}
