import type { Pool } from 'pg'
import type { Posting } from '#core/admission/posting'
import type { ProjectedRow, RefusedRow } from '#core/admission/projected-rows'
import { windowOf } from '#core/ledger/spend-window'
import type { Shard } from '#core/redis/shard'
import { type ChangedRow, type LimitDefaults, readAgain } from './changes.ts'

export type LostRowsDeps = {
  readonly pool: Pool
  readonly posting: Posting
  readonly defaults: LimitDefaults
  /** Called with the number of rows that Postgres had lost, once Redis has the state of Postgres. */
  readonly onLost: (count: number) => void
}

export type RefusedOfShard = RefusedRow & { readonly shard: Shard }

/**
 * Copies the current Postgres state of rows that Redis rejected because it has newer versions. Returns the rows that
 * Redis has then.
 *
 * Usually a row has changed in the meantime and is simply copied again. A row that is still older was lost by Postgres
 * (a restore, or a failover that lost the last commits), since Redis only gets committed rows. Such a row replaces
 * exactly that version, so a concurrent projection is never overwritten.
 */
export async function copyRefused(
  deps: LostRowsDeps,
  refused: readonly RefusedOfShard[],
): Promise<readonly ChangedRow[]> {
  if (refused.length === 0) return []
  const newerVersions = new Map(refused.map(({ row, newerVersion }) => [nameOf(row), newerVersion]))
  const given = refused.map(({ row }) => row)
  const rows = await readAgain(deps.pool, given, deps.defaults)
  const over = rows.map((changed) => ({
    ...changed,
    newerVersion: newerVersions.get(nameOf(changed.row)) ?? changed.row.version,
  }))
  const byShard = [...Map.groupBy(over, ({ shard }) => shard)]
  const refusedAgain = await Promise.all(byShard.map(([shard, own]) => deps.posting.projectOver(shard, own)))
  const kept = new Set(refusedAgain.flat().map(({ row }) => row))
  const copied = over.filter(({ row }) => !kept.has(row))
  const lostCount = copied.filter(({ row, newerVersion }) => row.version < newerVersion).length
  if (lostCount > 0) deps.onLost(lostCount)
  return copied
}

function nameOf(row: ProjectedRow): string {
  switch (row.kind) {
    case 'secret':
      return `secret ${row.hash}`
    case 'key':
      return `key ${row.keyId}`
    case 'organization':
      return `organization ${row.organizationId}`
    case 'key_day':
      return `day ${row.day} ${row.keyId}`
    case 'window':
      return `window ${windowOf(row.period, row.day)} ${row.ownerId}`
    case 'zone':
      return `zone ${row.organizationId}`
  }
}
