import type { Pool } from 'pg'
import type { Posting } from '#core/admission/posting'
import type { ProjectedRow } from '#core/admission/projected-rows'
import type { Shard } from '#core/redis/shard'

/**
 * Revokes a key in Redis that Postgres does not have, and returns whether it did. A restore has lost the key, so its
 * charges cannot be posted.
 *
 * A key created later with the same ID replaces it.
 */
export async function endIfUnknown(
  { pool, posting }: { readonly pool: Pool; readonly posting: Posting },
  shard: Shard,
  keyId: string,
): Promise<boolean> {
  if (await isKnown(pool, keyId)) return false
  const { refused } = await posting.project(shard, [tombstoneOf(keyId)], null)
  // Redis's newer row was lost by Postgres only if the key has not been created again since.
  if (await isKnown(pool, keyId)) return false
  await posting.projectOver(shard, refused)
  return true
}

async function isKnown(pool: Pool, keyId: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from api_keys where id = $1', [keyId])
  return rowCount !== 0
}

/** A revoked key, older than any that Postgres creates. */
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
    budgets: [],
    allowedModels: null,
    allowedIps: null,
    readBalance: false,
    keepsResponsesHours: null,
  }
}
