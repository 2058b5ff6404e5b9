import { inReadScope, inScope, scopeOfPerson } from '#core/audit/scope'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import type { FieldError } from '../../api/problem.ts'
import { register, resendVerification, verifyEmail } from '../auth-contracts.ts'
import { laneOf } from '../place.ts'
import { busy, refused } from '../problems.ts'
import { beginSession, endSessions, type NewSession } from '../session-store.ts'
import { confirmAddress } from './confirm-address.ts'
import { findToken } from './email-tokens.ts'
import { evenly } from './evenly.ts'
import type { PeopleParts } from './people-parts.ts'
import { type Earlier, registerPerson, sendAnotherLetter, withdrawPasswords } from './registration.ts'

/** Longer than a password hash, a dozen statements and a disk write. */
const registerMs = 400
const resendMs = 200

/** Endpoints for registration and email confirmation. */
export function registrationEndpoints(parts: PeopleParts): readonly Endpoint[] {
  const { passwords } = parts
  return [
    endpoint(register, async ({ body, visit }) => {
      const errors = missingConsents(body, visit)
      if (errors.length > 0) return { problem: { code: 'consent_required', errors } }
      return evenly(registerMs, async () => {
        const lane = laneOf({ known: undefined, work: visit.work })
        const passwordHash = await passwords.hash(body.password, lane)
        if (passwordHash === 'busy') return busy(lane)
        const { email, locale = visit.locale } = body
        const earlier = await registerPerson(parts, { email, passwordHash, locale }, visit)
        if (earlier !== undefined) await requireOnePassword(parts, earlier, body.password, visit)
        return { status: 202, body: { status: 'verification_sent' } }
      })
    }),
    endpoint(resendVerification, ({ body, visit }) =>
      evenly(resendMs, async () => {
        await sendAnotherLetter(parts, body.email, visit)
        return { status: 202, body: { status: 'verification_sent' } }
      }),
    ),
    endpoint(verifyEmail, async ({ body, visit }) => {
      const session = await verify(parts, body.token, visit)
      if (session === 'refused') return refused.token
      return session === undefined ? { status: 204 } : { status: 204, ...session }
    }),
  ]
}

/**
 * A user who registers an address again may open an email that another person requested, and it is unknown who was
 * first. So with two passwords, emails confirm neither. The reader is signed in and sets a new password by a reset.
 */
async function requireOnePassword(
  parts: PeopleParts,
  { userId, passwordHash }: Earlier,
  password: string,
  visit: Visit,
): Promise<void> {
  const checked = await parts.passwords.check(password, passwordHash, 'known')
  if (checked === 'busy' || !checked.fits) await withdrawPasswords(parts, userId, visit)
}

const consentNeeded = {
  ru: 'Должно быть true: без согласия регистрация невозможна.',
  en: 'Must be true. Accept this document to register.',
}

function missingConsents(
  body: { readonly accept_offer?: unknown; readonly accept_pdn?: unknown },
  { locale }: Visit,
): readonly FieldError[] {
  return (['accept_offer', 'accept_pdn'] as const)
    .filter((path) => body[path] !== true)
    .map((path) => ({ path, code: 'consent_required', message: consentNeeded[locale] }))
}

/** Spends a token. `undefined`: the address was already confirmed. A link does not sign in twice. */
async function verify(
  parts: PeopleParts,
  token: string,
  visit: Visit,
): Promise<{ readonly session: NewSession; readonly knownTo: string } | undefined | 'refused'> {
  const { pool } = parts
  const found = await inReadScope(pool, null, (client) => findToken(client, 'verify_email', token))
  if (found === undefined) return 'refused'
  if (found.isConfirmed) return undefined
  if (found.isSpent) return 'refused'
  const { userId, organizationId } = found
  const scope = scopeOfPerson(userId, organizationId, visit)
  return inScope(pool, scope, async (client) => {
    const isFirst = await confirmAddress(client, found, found.passwordHash, parts)
    if (!isFirst) return undefined
    // A person who registered this address before its owner may be signed in.
    await endSessions(client, userId)
    return { session: await beginSession(client, userId, 'all', visit), knownTo: userId }
  })
}
