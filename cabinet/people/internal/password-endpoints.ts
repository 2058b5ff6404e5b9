import { inReadScope, inScope, type ScopedClient, scopeOfJob, scopeOfPerson } from '#core/audit/scope'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import { enqueueLetter, mayStrangersWrite } from '../../mail/outbox.ts'
import { changePassword, forgotPassword, resetPassword } from '../auth-contracts.ts'
import { laneOf, placeOfSession } from '../place.ts'
import { busy, refused } from '../problems.ts'
import { endSessions } from '../session-store.ts'
import { checkOwnPassword } from './check-password.ts'
import { confirmAddress } from './confirm-address.ts'
import {
  type FoundToken,
  findToken,
  issueToken,
  mayGetLetter,
  spendToken,
  spendTokens,
} from './email-tokens.ts'
import { evenly } from './evenly.ts'
import { deletePasskeys } from './passkey-store.ts'
import type { PeopleParts } from './people-parts.ts'
import { findUserByEmail, maySignIn, setPassword } from './user-store.ts'

/** Longer than a few statements and a disk write. */
const forgotMs = 200

/** Endpoints for changing and resetting passwords. */
export function passwordEndpoints(parts: PeopleParts): readonly Endpoint[] {
  const { pool, passwords, passwordAttempts } = parts
  return [
    endpoint(forgotPassword, ({ body, visit }) =>
      evenly(forgotMs, async () => {
        await sendResetLink(parts, body.email, visit)
        return { status: 202, body: { status: 'reset_sent' } }
      }),
    ),
    endpoint(resetPassword, async ({ body, visit }) => {
      const found = await inReadScope(pool, null, (client) => findToken(client, 'reset_password', body.token))
      if (found === undefined || found.isSpent) return refused.token
      // Users with such a link need not wait behind strangers.
      const passwordHash = await passwords.hash(body.password, 'known')
      if (passwordHash === 'busy') return busy('known')
      const { userId, organizationId, email } = found
      const scope = scopeOfPerson(userId, organizationId, visit)
      const isDone = await inScope(pool, scope, async (client) => {
        if (!(await spendToken(client, 'reset_password', body.token))) return false
        await setPassword(client, found, passwordHash, 'user.reset_password')
        // The link proves access to the mailbox.
        await confirmAddress(client, found, null, parts)
        await deletePasskeys(client, found)
        await endSessions(client, userId)
        await tellPasswordChanged(client, found, visit)
        return true
      })
      if (!isDone) return refused.token
      await passwordAttempts.forget(email, undefined)
      return { status: 204, knownTo: userId }
    }),
    endpoint(changePassword, async ({ caller, body, visit }) => {
      const { userId, sessionId } = caller
      const known = await checkOwnPassword(parts, caller, body.current_password, visit)
      if ('problem' in known) return known
      const lane = laneOf(placeOfSession(caller))
      const passwordHash = await passwords.hash(body.new_password, lane)
      if (passwordHash === 'busy') return busy(lane)
      const scope = scopeOfPerson(userId, null, visit)
      const isDone = await inScope(pool, scope, async (client) => {
        if (!(await maySignIn(client, userId, known.user.passwordHash))) return false
        await setPassword(client, { userId, organizationId: null }, passwordHash, 'user.change_password')
        await spendTokens(client, 'reset_password', userId)
        await endSessions(client, userId, { except: sessionId })
        await tellPasswordChanged(client, caller, visit)
        return true
      })
      return isDone ? { status: 204 } : refused.credentials
    }),
  ]
}

async function sendResetLink(
  { pool, appUrl }: Pick<PeopleParts, 'pool' | 'appUrl'>,
  email: string,
  visit: Visit,
): Promise<void> {
  await inScope(pool, scopeOfJob('forgot-password', visit), async (client) => {
    const user = await findUserByEmail(client, email)
    if (user === undefined || user.isBlocked) return
    if (!(await mayGetLetter(client, 'reset_password', user.id))) return
    if (!(await mayStrangersWrite(client, user.email))) return
    const token = await issueToken(client, 'reset_password', user.id)
    const { email: recipient, locale } = user
    await enqueueLetter(client, {
      kind: 'reset_password',
      vars: { link: resetLink(appUrl, token) },
      recipient,
      locale,
    })
  })
}

/**
 * The page for choosing a new password. The token is in the fragment, which browsers never send to servers or proxies.
 */
function resetLink(appUrl: string, token: string): string {
  return `${appUrl}/reset#token=${token}`
}

async function tellPasswordChanged(
  client: ScopedClient,
  { email, locale }: Pick<FoundToken, 'email' | 'locale'>,
  { address }: Visit,
): Promise<void> {
  const vars = { at: new Date().toISOString(), address }
  await enqueueLetter(client, { kind: 'password_changed', vars, recipient: email, locale })
}
