import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { TokenScope } from '#cabinet/api/access'
import { hashOfToken, hintOf, writeToken } from '#cabinet/tokens/internal/management-token'
import { pepper } from './customer.ts'

type TokenFields = {
  readonly organizationId: string
  /** Who created it. */
  readonly userId: string
  readonly scopes: readonly TokenScope[]
  readonly name?: string
  readonly state?: 'active' | 'revoked' | 'expired'
}

/** A management token, written straight into the database, which was just used. */
export async function insertManagementToken(
  pool: Pool,
  { organizationId, userId, scopes, name = 'a token', state = 'active' }: TokenFields,
): Promise<{ readonly tokenId: string; readonly secret: string }> {
  const [tokenId, secret] = [randomUUID(), writeToken(randomBytes(32), pepper)]
  await pool.query(
    `insert into management_tokens (id, organization_id, created_by, name, scopes, token_hash, hint, expires_at,
                                    revoked_at, last_used_at)
     values ($1, $2, $3, $4, $5, $6, $7, now() + case when $8 = 'expired' then interval '-1 second' else '1 day' end,
             case when $8 = 'revoked' then now() end, now())`,
    [tokenId, organizationId, userId, name, scopes, hashOfToken(secret, pepper), hintOf(secret), state],
  )
  return { tokenId, secret }
}
