import type { Pool } from 'pg'
import type { Facts } from '../../audit/audit-log.ts'
import { inScope, type ScopedClient } from '../../audit/scope.ts'

/** Somebody who did not prove that he is this person; the person finds it in the audit log. */
export async function noteRefusedSignIn(
  pool: Pool,
  userId: string,
  why: 'password' | 'blocked' | 'code',
  requestId: string,
): Promise<void> {
  // Whoever tried is not known to be the person.
  const scope = { actor: { kind: 'job', name: 'sign-in' }, organizationId: null, requestId } as const
  await inScope(pool, scope, (client) => note(client, 'user.refuse_sign_in', userId, { why }))
}

/** Somebody who signed in, and by what: a password alone, or a code as well. */
export async function noteSignIn(
  client: ScopedClient,
  userId: string,
  by: 'password' | 'code',
): Promise<void> {
  await note(client, 'user.sign_in', userId, { by })
}

/** What changes no row of anybody, and is worth knowing all the same. */
async function note(client: ScopedClient, action: string, userId: string, after: Facts): Promise<void> {
  await client.change('select', [], () => ({
    ...{ action, subject: { kind: 'User', id: userId }, organizationId: null },
    ...{ before: null, after },
  }))
}
