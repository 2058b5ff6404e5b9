import { inReadScope, inScope, type ScopedClient, scopeOfJob } from '#core/audit/scope'
import type { Locale } from '../../api/access.ts'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import { notFound } from '../../api/problem.ts'
import * as contracts from '../email-change-contracts.ts'
import { refused } from '../problems.ts'
import { checkOwnPassword } from './check-password.ts'
import { beginEmailChange, cancelEmailChange, confirmEmailChange, findEmailChange } from './email-change.ts'
import type { PeopleParts } from './people-parts.ts'
import { acceptFactor } from './second-factor.ts'
import { maySignIn } from './user-store.ts'
import { scopeOf, withCode } from './with-code.ts'

/** Between two changes of a user. */
const pauseS = 60

/** Endpoints for a change of a user's address, which the present and the new address must confirm. */
export function emailChangeEndpoints(parts: PeopleParts): readonly Endpoint[] {
  const { pool, sealingKeys } = parts
  return [
    endpoint(contracts.readEmailChange, async ({ caller: { userId } }) => {
      const found = await inReadScope(pool, null, (client) => findEmailChange(client, userId))
      const change = found && {
        email: found.email,
        expires_at: found.expiresAt.toISOString(),
        is_old_confirmed: found.isOldConfirmed,
        is_new_confirmed: found.isNewConfirmed,
      }
      return { status: 200, body: { change: change ?? null } }
    }),
    endpoint(contracts.beginEmailChange, async ({ caller, body, visit }) => {
      if (!caller.isConfirmed) return { problem: { code: 'email_not_verified' } }
      const known = await checkOwnPassword(parts, caller, body.password, visit)
      if ('problem' in known) return known
      const begin = async (client: ScopedClient) => {
        if (!(await maySignIn(client, caller.userId, known.user.passwordHash))) return refused.credentials
        return answerOf(await beginEmailChange(client, caller, body.email), visit.locale)
      }
      if (!caller.hasTotp) return inScope(pool, scopeOf(caller, visit), begin)
      return withCode(parts, caller, visit, async (client) => {
        if (!(await acceptFactor(client, caller.userId, body, sealingKeys))) return refused.code
        return begin(client)
      })
    }),
    endpoint(contracts.endEmailChange, async ({ caller, visit }) => {
      const isCanceled = await inScope(pool, scopeOf(caller, visit), (client) =>
        cancelEmailChange(client, caller),
      )
      return isCanceled ? { status: 204 } : notFound
    }),
    endpoint(contracts.confirmEmailChange, async ({ body, visit }) => {
      const outcome = await inScope(pool, scopeOfLink(visit), (client) =>
        confirmEmailChange(client, body.token),
      )
      if (outcome === 'invalid') return refused.token
      const status = outcome === 'changed' ? outcome : 'other_address_missing'
      return { status: 200, body: { status } }
    }),
    endpoint(contracts.cancelEmailChange, async ({ body, visit }) => {
      const isCanceled = await inScope(pool, scopeOfLink(visit), (client) => cancelEmailChange(client, body))
      return isCanceled ? { status: 204 } : refused.token
    }),
  ]
}

/** A link needs no session. */
function scopeOfLink(visit: Visit) {
  return scopeOfJob('email-change', visit)
}

function answerOf(begun: Awaited<ReturnType<typeof beginEmailChange>>, locale: Locale) {
  if (begun === 'too_soon') return { problem: { code: 'rate_limited', retryAfterS: pauseS } } as const
  if (begun === 'refused') return { problem: { code: 'email_not_verified' } } as const
  if (begun === 'begun') return { status: 202, body: { status: 'confirmations_sent' } } as const
  const message = { en: 'is your present address', ru: 'это ваш нынешний адрес' }[locale]
  return {
    problem: { code: 'validation_failed', errors: [{ path: 'email', code: 'same_email', message }] },
  } as const
}
