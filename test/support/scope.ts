import type { Pool } from 'pg'
import { inScope, type Scope, type ScopedClient } from '#core/audit/scope'

/** Writes as a test, by default for the platform. */
export function inTestScope<Answer>(
  pool: Pool,
  work: (client: ScopedClient) => Promise<Answer>,
  scope: Partial<Scope> = {},
): Promise<Answer> {
  return inScope(pool, { actor: { kind: 'job', name: 'test' }, organizationId: null, ...scope }, work)
}
