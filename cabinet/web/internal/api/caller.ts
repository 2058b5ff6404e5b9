import type { Pool } from 'pg'
import { type Access, type Member, mayDo, type Person } from '../../../api/access.ts'
import type { Problem } from '../../../api/problem.ts'
import { type FoundSession, findSession } from '../../../people/session-store.ts'

/** How long a code of the second factor counts as recent. */
const stepUpMs = 5 * 60_000

type Caller = Person | Member | undefined

/**
 * Finds the caller as required by an endpoint's access, or returns a problem.
 *
 * @throws Postgres errors, or that Postgres is unavailable: an outage is never a 401.
 */
export async function findCaller(
  pool: Pool,
  access: Access,
  token: string | undefined,
): Promise<{ readonly caller: Caller } | { readonly problem: Problem }> {
  if (access.to === 'anyone') return { caller: undefined }
  const session = token === undefined ? undefined : await findSession(pool, token)
  return session === undefined ? { problem: { code: 'unauthenticated' } } : admit(access, session, Date.now())
}

/** Whether an endpoint accepts the user of this session. Pure. */
export function admit(
  access: Exclude<Access, { readonly to: 'anyone' }>,
  { stage, person, membership }: FoundSession,
  nowMs: number,
): { readonly caller: Person | Member } | { readonly problem: Problem } {
  const isHalf = stage === 'password'
  if (isHalf !== (access.to === 'half_signed_in')) return { problem: { code: 'unauthenticated' } }
  if (access.to === 'member') {
    if (membership === undefined || !mayDo(membership.memberRole, access.right))
      return { problem: { code: 'forbidden' } }
    if (access.confirmed === true && !person.isConfirmed) return { problem: { code: 'email_not_verified' } }
    return { caller: { ...person, ...membership } }
  }
  if (access.to === 'administrator') {
    if (person.role !== 'admin') return { problem: { code: 'forbidden' } }
    if (person.mfaAt === null) return { problem: { code: 'mfa_required' } }
    if (access.again === true && person.mfaAt.getTime() < nowMs - stepUpMs)
      return { problem: { code: 'mfa_step_up_required' } }
  }
  return { caller: person }
}
