import type { Pool } from 'pg'
import { inReadScope, inScope, scopeOfToken } from '#core/audit/scope'
import { type Access, hasRight, scopeWith, type TokenBearer } from '../api/access.ts'
import type { Problem } from '../api/problem.ts'
import type { TokenGate } from '../api/session-gate.ts'
import { findToken, hashOfToken, looksLikeToken } from './internal/management-token.ts'
import { findUsableToken, noteUse, type UsableToken } from './internal/token-store.ts'

/** Recognizes management tokens. Each call reads Postgres: a revoked token's next call is rejected. */
export function managementTokens(pool: Pool, keyPepper: string): TokenGate {
  return {
    isToken: looksLikeToken,
    async findBearer(access, text, named) {
      const token = findToken(text, keyPepper)
      if (token === undefined) return unknown
      const hash = hashOfToken(token, keyPepper)
      const found = await inReadScope(pool, null, (client) => findUsableToken(client, hash))
      if (found === undefined) return unknown
      const admitted = admitToken(access, found, named)
      if ('caller' in admitted && !found.isUseNoted) await note(pool, found)
      return admitted
    },
  }
}

const unknown = { problem: { code: 'invalid_management_token' } } as const

function note(pool: Pool, { tokenId, organizationId }: UsableToken): Promise<void> {
  const scope = scopeOfToken(tokenId, organizationId)
  return inScope(pool, scope, (client) => noteUse(client, tokenId))
}

/** Whether an endpoint accepts the bearer of this token. Pure. */
function admitToken(
  access: Access,
  { tokenId, organizationId, tokenScopes, isOrganizationBlocked }: Omit<UsableToken, 'isUseNoted'>,
  named: string | undefined,
): { readonly caller: TokenBearer } | { readonly problem: Problem } {
  if (isOrganizationBlocked) return { problem: { code: 'organization_blocked' } }
  if (access.to !== 'member' || access.tokens !== true) return { problem: { code: 'not_for_tokens' } }
  if (named !== undefined && named.toLowerCase() !== organizationId)
    return { problem: { code: 'other_organization' } }
  const caller = { tokenId, organizationId, tokenScopes }
  if (hasRight(caller, access.right)) return { caller }
  const scope = scopeWith(access.right)
  if (scope === undefined) return { problem: { code: 'not_for_tokens' } }
  return { problem: { code: 'token_scope_required', facts: { required_scope: scope } } }
}
