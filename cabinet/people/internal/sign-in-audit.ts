import type { Pool } from 'pg'
import type { Facts } from '#core/audit/audit-log'
import { inScope, type ScopedClient, scopeOfJob } from '#core/audit/scope'
import type { Visit } from '../../api/endpoint.ts'

/** Audits a failed sign-in attempt. The user finds it in the audit log. */
export async function noteRefusedSignIn(
  pool: Pool,
  userId: string,
  why: 'password' | 'blocked' | 'code' | 'passkey',
  visit: Visit,
): Promise<void> {
  // The caller is not proven to be the user.
  await inScope(pool, scopeOfJob('sign-in', visit), (client) =>
    note(client, 'user.refuse_sign_in', userId, { why }),
  )
}

/** Audits a sign-in, and whether it used only a password, also a code, or a passkey. */
export async function noteSignIn(
  client: ScopedClient,
  userId: string,
  by: 'password' | 'code' | 'passkey',
): Promise<void> {
  await note(client, 'user.sign_in', userId, { by })
}

/** Audits an event that changes no row. */
async function note(client: ScopedClient, action: string, userId: string, after: Facts): Promise<void> {
  await client.change('select', [], () => ({
    action,
    subject: { kind: 'User', id: userId },
    organizationId: null,
    before: null,
    after,
  }))
}
