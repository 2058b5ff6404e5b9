import type { Pool } from 'pg'
import type { Shard } from '../../redis/shard.ts'
import type { Posting } from './posting.ts'
import type { ProjectedRow } from './projected-rows.ts'

/**
 * Revokes a key in Redis that Postgres does not have, and returns whether it was one: a restore has lost it, and its
 * charges cannot be booked.
 *
 * A key that is created later with the same id replaces it.
 */
export async function endIfUnknown(
  { pool, posting }: { readonly pool: Pool; readonly posting: Posting },
  shard: Shard,
  keyId: string,
): Promise<boolean> {
  if (await isKnown(pool, keyId)) return false
  const { refused } = await posting.project(shard, [tombstoneOf(keyId)], null)
  // Redis's newer row was lost by Postgres only if the key was not created again before we saw it.
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
