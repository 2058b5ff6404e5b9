import type { Queryable } from '#core/db/pool'
import { type LanedOrganization, readLanedOrganizations } from '#core/ledger/lanes'

/** How long new lanes are not used yet: until then all charges of the organization are posted together. */
const readEveryMs = 5_000

/** Reads which organizations have several lanes, at most every 5 s. */
export function createLaneReader(
  client: Queryable,
  now: () => number,
): () => Promise<readonly LanedOrganization[]> {
  let lanes: readonly LanedOrganization[] = []
  let readAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (now() - readAtMs < readEveryMs) return lanes
    lanes = await readLanedOrganizations(client)
    readAtMs = now()
    return lanes
  }
}
