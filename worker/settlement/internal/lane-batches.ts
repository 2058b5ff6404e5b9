import { type LanedOrganization, laneOf } from '#core/ledger/lanes'
import type { PostedBatch } from '#core/ledger/post-batch'

/** Lanes of organizations that have more than one. */
export type Lanes = readonly LanedOrganization[]

/** The most lanes of an organization of this shard. Pure. */
export function lanesOfShard(lanes: Lanes, shard: number): number {
  return Math.max(1, ...lanes.filter((laned) => laned.shard === shard).map((laned) => laned.lanes))
}

/**
 * Splits charges by the lanes in which they are posted, each part in order. Organizations with one lane are in the first
 * part. Entries of one request are in the same part. Pure.
 */
export function splitByLane<Charge extends { readonly organizationId: string; readonly requestId: string }>(
  charges: readonly Charge[],
  lanes: Lanes,
): readonly (readonly Charge[])[] {
  if (lanes.length === 0) return [charges]
  const laneCounts = new Map(lanes.map((laned) => [laned.organizationId, laned.lanes]))
  const byLane = Map.groupBy(charges, ({ organizationId, requestId }) =>
    laneOf(requestId, laneCounts.get(organizationId) ?? 1),
  )
  return [...byLane.values()]
}

/** What batches left that were posted at the same time: of each balance and spend the newest version. Pure. */
export function newestOf(batches: readonly PostedBatch[]): PostedBatch {
  return {
    balances: newest(
      batches.flatMap(({ balances }) => balances),
      ({ organizationId }) => organizationId,
    ),
    keyDays: newest(
      batches.flatMap(({ keyDays }) => keyDays),
      ({ keyId, day }) => `${keyId} ${day}`,
    ),
    windows: newest(
      batches.flatMap(({ windows }) => windows),
      ({ scope, ownerId, period, day }) => `${scope} ${ownerId} ${period} ${day}`,
    ),
  }
}

function newest<Row extends { readonly version: bigint }>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const newestRows = new Map<string, Row>()
  for (const row of rows) {
    const known = newestRows.get(keyOf(row))
    if (known === undefined || known.version < row.version) newestRows.set(keyOf(row), row)
  }
  return [...newestRows.values()]
}
