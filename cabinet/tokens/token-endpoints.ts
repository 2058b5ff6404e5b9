import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import { type Endpoint, endpoint, type Input } from '../api/endpoint.ts'
import { once } from '../api/once.ts'
import { notFound } from '../api/problem.ts'
import { hashOfToken, hintOf, writeToken } from './internal/management-token.ts'
import * as store from './internal/token-store.ts'
import * as contracts from './token-contracts.ts'

/** Endpoints for the management tokens of an organization. */
export function tokenEndpoints({
  pool,
  keyPepper,
}: {
  readonly pool: Pool
  readonly keyPepper: string
}): readonly Endpoint[] {
  return [
    endpoint(contracts.listTokens, async ({ caller: { organizationId } }) => {
      const tokens = await inReadScope(pool, organizationId, (client) =>
        store.readTokens(client, organizationId),
      )
      return { status: 200, body: { data: tokens.map(shownToken) } }
    }),
    endpoint(contracts.createToken, async (input) => {
      const { caller, visit, idempotency } = input
      const scope = scopeOfPerson(caller.userId, caller.organizationId, visit)
      const made = await inScope(pool, scope, (client) =>
        once(client, caller, idempotency, () => createToken(client, keyPepper, input)),
      )
      return 'problem' in made ? made : { status: 201, body: made.body }
    }),
    endpoint(contracts.revokeToken, async ({ caller, params: { token_id: id }, visit }) => {
      if (!isId(id)) return notFound
      const { userId, organizationId } = caller
      const isRevoked = await inScope(pool, scopeOfPerson(userId, organizationId, visit), (client) =>
        store.revokeToken(client, organizationId, id),
      )
      return isRevoked ? { status: 204 } : notFound
    }),
  ]
}

/** No secret is stored. A repeated call gets the same token without its secret. */
async function createToken(
  client: ScopedClient,
  keyPepper: string,
  { caller, body }: Input<typeof contracts.createToken>,
) {
  const { organizationId, userId } = caller
  const { isOwner, count } = await store.holdTokens(client, organizationId, userId)
  // Removed, or another role, since the call began.
  if (!isOwner) return { problem: { code: 'forbidden' } } as const
  if (count >= store.tokensMax) return { problem: { code: 'too_many_tokens' } } as const
  const secret = writeToken(randomBytes(32), keyPepper)
  const id = await store.addToken(client, {
    organizationId,
    createdBy: userId,
    name: body.name,
    scopes: body.scopes,
    days: body.expires_in_days,
    hash: hashOfToken(secret, keyPepper),
    hint: hintOf(secret),
  })
  const token = await showExisting(client, organizationId, id)
  return {
    fresh: { status: 201, body: { token, secret } },
    kept: { status: 201, body: { token, secret: null as string | null } },
  }
}

async function showExisting(
  client: Queryable,
  organizationId: string,
  id: string,
): Promise<contracts.ShownToken> {
  const found = (await store.readTokens(client, organizationId)).find((each) => each.id === id)
  if (found === undefined) throw new Error(`token ${id} does not exist`)
  return shownToken(found)
}

function shownToken(token: store.StoredToken): contracts.ShownToken {
  return {
    id: token.id,
    name: token.name,
    secret_hint: token.hint,
    scopes: [...token.scopes],
    status: token.isExpired ? 'expired' : 'active',
    created_by: token.creator,
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt.toISOString(),
    last_used_at: token.lastUsedAt?.toISOString() ?? null,
  }
}
