import type { Pool } from 'pg'
import { inScope, type Scope, type ScopedClient } from '#cabinet/audit/scope'

/** Writes as a test, for the platform unless said otherwise. */
export function inTestScope<Answer>(
  pool: Pool,
  work: (client: ScopedClient) => Promise<Answer>,
  scope: Partial<Scope> = {},
): Promise<Answer> {
  return inScope(pool, { actor: { kind: 'job', name: 'test' }, organizationId: null, ...scope }, work)
}
