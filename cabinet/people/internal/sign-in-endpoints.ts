import { inScope, scopeOfJob, scopeOfPerson } from '#core/audit/scope'
import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { cancelTotpReset, login, loginWithCode, logout } from '../auth-contracts.ts'
import { placeOfVisit } from '../place.ts'
import { refused } from '../problems.ts'
import { beginSession, endSessions } from '../session-store.ts'
import { checkPassword } from './check-password.ts'
import type { PeopleParts } from './people-parts.ts'
import { acceptFactor } from './second-factor.ts'
import { noteRefusedSignIn, noteSignIn } from './sign-in-audit.ts'
import * as totpResets from './totp-reset.ts'
import { keepRehashed, maySignIn } from './user-store.ts'

/** Endpoints for signing in and out. */
export function signInEndpoints(parts: PeopleParts): readonly Endpoint[] {
  const { pool, passwords, codeAttempts, sealingKeys } = parts
  return [
    endpoint(login, async ({ body, visit }) => {
      const known = await checkPassword(parts, {
        ...body,
        visit,
        placeOf: (userId) => placeOfVisit(visit, userId),
      })
      if ('problem' in known) return known
      const { user, isOutdated } = known
      const rehashed = isOutdated ? await passwords.hash(body.password, 'open') : undefined
      const session = await inScope(pool, scopeOfPerson(user.id, null, visit), async (client) => {
        if (!(await maySignIn(client, user.id, user.passwordHash))) return undefined
        // While too many users sign in, keep the old hash.
        if (rehashed !== undefined && rehashed !== 'busy') await keepRehashed(client, user, rehashed)
        if (!user.hasTotp) await noteSignIn(client, user.id, 'password')
        return beginSession(client, user.id, user.hasTotp ? 'password' : 'all', visit)
      })
      if (session === undefined) return refused.credentials
      if (user.hasTotp) return { status: 200, body: { mfa: 'totp' }, session }
      return { status: 200, body: { mfa: null }, session, knownTo: user.id }
    }),
    endpoint(loginWithCode, async ({ caller, body, visit }) => {
      const { userId, sessionId } = caller
      const place = placeOfVisit(visit, userId)
      const problem = await codeAttempts.begin(userId, place)
      if (problem !== undefined) return { problem }
      const session = await inScope(pool, scopeOfPerson(userId, null, visit), async (client) => {
        if (!(await maySignIn(client, userId))) return undefined
        if (!(await acceptFactor(client, userId, body, sealingKeys))) return undefined
        // Of two concurrent calls with one pending-MFA session, only one completes it.
        if ((await endSessions(client, userId, { sessionId })) === 0) return undefined
        await totpResets.cancelTotpResetsOf(client, userId) // the second factor is not lost
        await noteSignIn(client, userId, 'code')
        return beginSession(client, userId, 'all_with_code', visit)
      })
      if (session === undefined) {
        await noteRefusedSignIn(pool, userId, 'code', visit)
        return refused.code
      }
      await codeAttempts.forget(userId, place.known)
      return { status: 204, session, knownTo: userId }
    }),
    endpoint(cancelTotpReset, async ({ body, visit }) => {
      const isCanceled = await inScope(pool, scopeOfJob('cancel-totp-reset', visit), (client) =>
        totpResets.cancelTotpReset(client, body.token),
      )
      return isCanceled ? { status: 204 } : refused.token
    }),
    endpoint(logout, async ({ caller: { userId, sessionId }, visit }) => {
      await inScope(pool, scopeOfPerson(userId, null, visit), (client) =>
        endSessions(client, userId, { sessionId }),
      )
      return { status: 204, session: 'ended' }
    }),
  ]
}
