import type { Pool } from 'pg'
import type { Posting } from '../../admission/posting.ts'
import type { ProjectedRow } from '../../admission/projected-rows.ts'
import type { Shard } from '../../redis/shard.ts'

/**
 * Ends a key in Redis that Postgres does not have, and answers whether it is such a one: a restore has lost it, and what
 * it charges nobody can book.
 *
 * A key that is made again later, with the same id, takes its place.
 */
export async function endIfUnknown(
  { pool, posting }: { readonly pool: Pool; readonly posting: Posting },
  shard: Shard,
  keyId: string,
): Promise<boolean> {
  if (await isKnown(pool, keyId)) return false
  const { refused } = await posting.project(shard, [tombstoneOf(keyId)], null)
  // What Redis has newer is what Postgres has lost only if the key was not made again before we saw it.
  if (await isKnown(pool, keyId)) return false
  await posting.projectOver(shard, refused)
  return true
}

async function isKnown(pool: Pool, keyId: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from api_keys where id = $1', [keyId])
  return rowCount !== 0
}

/** A revoked key, older than any that Postgres ever makes. */
function tombstoneOf(keyId: string): ProjectedRow {
  return {
    kind: 'key',
    keyId,
    version: 0n,
    state: 'revoked',
    blockedBy: null,
    expiresAtMs: null,
    rpm: 0,
    tpm: 0,
    dailyBudgetNano: null,
    allowedModels: null,
    readBalance: false,
  }
}
