import type { Pool } from 'pg'
import { type Access, type Member, mayDo, type Person } from '../../../api/access.ts'
import type { Problem } from '../../../api/problem.ts'
import type { SessionGate } from '../../../api/session-gate.ts'
import { type FoundSession, findSession } from '../../../people/session-store.ts'

/** The sessions of users. */
export function userSessions(pool: Pool): SessionGate {
  return {
    cookies: {
      // `__Host-`: only this host can set it, over TLS (or on localhost), for all its paths.
      session: '__Host-model_gateway_session',
      device: '__Host-model_gateway_device',
      // Users who return from the payment provider are still signed in.
      sameSite: 'lax',
    },
    async findCaller(access, token, organizationId) {
      if (access.to === 'anyone') return { caller: undefined }
      const session = token === undefined ? undefined : await findSession(pool, token, organizationId)
      return session === undefined ? { problem: { code: 'unauthenticated' } } : admit(access, session)
    },
  }
}

/** Whether an endpoint accepts the user of this session. Pure. */
export function admit(
  access: Exclude<Access, { readonly to: 'anyone' }>,
  { stage, person, membership }: FoundSession,
): { readonly caller: Person | Member } | { readonly problem: Problem } {
  const isHalf = stage === 'password'
  if (isHalf !== (access.to === 'half_signed_in')) return { problem: { code: 'unauthenticated' } }
  if (access.to === 'member') {
    if (membership === 'several') return { problem: { code: 'organization_required' } }
    if (membership === undefined || !mayDo(membership.memberRole, access.right))
      return { problem: { code: 'forbidden' } }
    if (access.confirmed === true && !person.isConfirmed) return { problem: { code: 'email_not_verified' } }
    return { caller: { ...person, ...membership } }
  }
  // Served by another process, which has other sessions.
  if (access.to === 'administrator') return { problem: { code: 'forbidden' } }
  return { caller: person }
}
