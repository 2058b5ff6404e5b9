import { inScope, scopeOfJob } from '#core/audit/scope'
import { type Endpoint, endpoint, type Input, type Output, type Visit } from '../../api/endpoint.ts'
import { checkAccountPassword } from '../../people/password-check.ts'
import { placeOfVisit } from '../../people/place.ts'
import { refused } from '../../people/problems.ts'
import { logIn, logOut } from '../administrator-contracts.ts'
import { findAdministrator, maySignIn, noteEvent } from './administrator-store.ts'
import { attemptsName, ownScope, type Parts } from './parts.ts'
import { acceptFactor } from './second-factor.ts'
import { beginSession, endSessions } from './session-rows.ts'

/** Endpoints for signing in and out. */
export function signInEndpoints(parts: Parts): readonly Endpoint[] {
  return [
    endpoint(logIn, (input) => signIn(parts, input)),
    endpoint(logOut, async ({ caller: { administratorId, sessionId }, visit }) => {
      await inScope(parts.pool, ownScope(administratorId, visit), (client) =>
        endSessions(client, administratorId, sessionId),
      )
      return { status: 204, session: 'ended' }
    }),
  ]
}

/** Password and code are checked in one call, so that a session without a second factor cannot exist. */
async function signIn(parts: Parts, { body, visit }: Input<typeof logIn>): Promise<Output<typeof logIn>> {
  const { pool, codeAttempts, sealingKeys } = parts
  const found = await findAdministrator(pool, body.email)
  const place = placeOfVisit(visit, found?.id)
  const checked = await checkAccountPassword(parts, {
    found,
    password: body.password,
    attemptsName: attemptsName(body.email),
    place,
    noteRefused: (id, why) => noteRefused(parts, id, why, visit),
  })
  if ('problem' in checked) return checked
  const { id, passwordHash } = checked.account
  const problem = await codeAttempts.begin(attemptsName(id), place)
  if (problem !== undefined) return { problem }
  const session = await inScope(pool, ownScope(id, visit), async (client) => {
    if (!(await maySignIn(client, id, passwordHash))) return undefined
    if (!(await acceptFactor(client, id, body, sealingKeys))) return undefined
    await noteEvent(client, 'sign_in', id, null)
    return beginSession(client, id, visit)
  })
  if (session === undefined) {
    await noteRefused(parts, id, 'code', visit)
    return refused.credentials
  }
  await codeAttempts.forget(attemptsName(id), place.known)
  return { status: 204, session, knownTo: id }
}

/** Audits a failed attempt. The caller is not proven to be the administrator. */
async function noteRefused(
  { pool }: Parts,
  administratorId: string,
  why: 'password' | 'blocked' | 'code',
  visit: Visit,
): Promise<void> {
  await inScope(pool, scopeOfJob('sign-in', visit), (client) =>
    noteEvent(client, 'refuse_sign_in', administratorId, { why }),
  )
}
