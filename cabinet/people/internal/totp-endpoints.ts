import { inScope, type ScopedClient } from '#core/audit/scope'
import type { Person } from '../../api/access.ts'
import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { enqueueLetter } from '../../mail/outbox.ts'
import * as contracts from '../me-contracts.ts'
import { refused } from '../problems.ts'
import { beginSession, endSessions, noteCode } from '../session-store.ts'
import { checkOwnPassword } from './check-password.ts'
import type { PeopleParts } from './people-parts.ts'
import {
  acceptCode,
  acceptFactor,
  beginEnrolment,
  finishEnrolment,
  removeFactor,
  renewRecoveryCodes,
} from './second-factor.ts'
import { cancelTotpResetsOf } from './totp-reset.ts'
import { scopeOf, withCode } from './with-code.ts'

/** Endpoints for a user's second factor. */
export function totpEndpoints(parts: PeopleParts): readonly Endpoint[] {
  const { pool, sealingKeys } = parts
  return [
    endpoint(contracts.enrolTotp, async ({ caller, body, visit }) => {
      // A person who registers someone else's address must not be able to lock it.
      if (!caller.isConfirmed) return { problem: { code: 'email_not_verified' } }
      if (caller.hasTotp) return { problem: { code: 'conflict' } }
      const known = await checkOwnPassword(parts, caller, body.password, visit)
      if ('problem' in known) return known
      const enrolment = await inScope(pool, scopeOf(caller, visit), (client) =>
        beginEnrolment(client, caller, sealingKeys),
      )
      if (enrolment === undefined) return { problem: { code: 'conflict' } }
      return { status: 200, body: { secret: enrolment.secret, otpauth_uri: enrolment.uri } }
    }),
    endpoint(contracts.confirmTotp, async ({ caller, body, visit }) =>
      withCode(parts, caller, visit, async (client) => {
        const ended = await finishEnrolment(client, caller.userId, body.code, sealingKeys)
        if (ended !== 'on') return ended === 'none' ? { problem: { code: 'conflict' } } : refused.code
        await tell(client, caller, 'totp_enabled')
        const recovery_codes = await renewRecoveryCodes(client, caller.userId)
        // Other sessions have not entered a code.
        await endSessions(client, caller.userId)
        const session = await beginSession(client, caller.userId, 'all_with_code', visit)
        return { status: 200, body: { recovery_codes }, session, knownTo: caller.userId }
      }),
    ),
    endpoint(contracts.stepUp, async ({ caller, body, visit }) => {
      if (!caller.hasTotp) return { problem: { code: 'mfa_required' } }
      return withCode(parts, caller, visit, async (client) => {
        if (!(await acceptCode(client, caller.userId, body.code, sealingKeys))) return refused.code
        await noteCode(client, caller.sessionId)
        return { status: 204 }
      })
    }),
    endpoint(contracts.renewRecoveryCodes, async ({ caller, body, visit }) => {
      if (!caller.hasTotp) return { problem: { code: 'mfa_required' } }
      return withCode(parts, caller, visit, async (client) => {
        if (!(await acceptCode(client, caller.userId, body.code, sealingKeys))) return refused.code
        return { status: 200, body: { recovery_codes: await renewRecoveryCodes(client, caller.userId) } }
      })
    }),
    endpoint(contracts.removeTotp, async ({ caller, body, visit }) => {
      if (!caller.hasTotp) return { problem: { code: 'mfa_required' } }
      const known = await checkOwnPassword(parts, caller, body.password, visit)
      if ('problem' in known) return known
      return withCode(parts, caller, visit, async (client) => {
        if (!(await acceptFactor(client, caller.userId, body, sealingKeys))) return refused.code
        await removeFactor(client, caller.userId)
        await cancelTotpResetsOf(client, caller.userId)
        await tell(client, caller, 'totp_disabled')
        return { status: 204 }
      })
    }),
  ]
}

async function tell(
  client: ScopedClient,
  { email, locale }: Person,
  kind: 'totp_enabled' | 'totp_disabled',
): Promise<void> {
  await enqueueLetter(client, { kind, vars: {}, recipient: email, locale })
}
