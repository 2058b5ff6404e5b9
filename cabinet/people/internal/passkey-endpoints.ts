import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import type { Person } from '../../api/access.ts'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import { enqueueLetter } from '../../mail/outbox.ts'
import * as contracts from '../passkey-contracts.ts'
import { refused } from '../problems.ts'
import { beginSession } from '../session-store.ts'
import { checkOwnPassword } from './check-password.ts'
import { type ChallengeUse, challengeLastsMs, newChallenge } from './passkey-challenge.ts'
import { algorithms, checkCreated, checkSigned, handleOf, siteOf } from './passkey-check.ts'
import * as passkeys from './passkey-store.ts'
import type { PeopleParts } from './people-parts.ts'
import { acceptCode } from './second-factor.ts'
import { noteRefusedSignIn, noteSignIn } from './sign-in-audit.ts'
import { maySignIn } from './user-store.ts'
import { scopeOf, withCode } from './with-code.ts'

/** Endpoints for signing in with passkeys, and for a user's passkeys. */
export function passkeyEndpoints(parts: PeopleParts): readonly Endpoint[] {
  const { pool, appUrl, sealingKeys } = parts
  const expected = (use: ChallengeUse) => ({ use, appUrl, sealingKeys, nowMs: Date.now() })
  return [
    endpoint(contracts.readPasskeyChallenge, async () => ({
      status: 200,
      body: {
        challenge: newChallenge(['sign-in'], Date.now(), sealingKeys),
        timeout: challengeLastsMs,
        rpId: siteOf(appUrl).id,
        userVerification: 'required',
      },
    })),
    endpoint(contracts.loginWithPasskey, async ({ body: { credential }, visit }) => {
      const passkey = await inReadScope(pool, null, (client) =>
        passkeys.findPasskey(client, Buffer.from(credential.id, 'base64url')),
      )
      if (passkey === undefined) return refused.passkey
      const signed = await checkSigned(credential, passkey, expected(['sign-in']))
      const session = signed && (await signIn(parts, passkey, signed, visit))
      if (session !== undefined)
        return { status: 200, body: { email: passkey.email }, session, knownTo: passkey.userId }
      await noteRefusedSignIn(pool, passkey.userId, 'passkey', visit)
      return refused.passkey
    }),
    endpoint(contracts.listPasskeys, async ({ caller: { userId } }) => {
      const found = await inReadScope(pool, null, (client) => passkeys.listPasskeys(client, userId))
      return { status: 200, body: { data: found.map(passkeys.shownPasskey) } }
    }),
    endpoint(contracts.beginPasskey, async ({ caller, body: { password, code }, visit }) => {
      // A person who registers someone else's address must not be able to keep it.
      if (!caller.isConfirmed) return { problem: { code: 'email_not_verified' } }
      if (caller.hasTotp && code === undefined) return { problem: { code: 'mfa_required' } }
      const known = await checkOwnPassword(parts, caller, password, visit)
      if ('problem' in known) return known
      const stored = await inReadScope(pool, null, (client) =>
        passkeys.listCredentialIds(client, caller.userId),
      )
      if (stored.length >= passkeys.passkeysMax) return { problem: { code: 'too_many_passkeys' } }
      const options = optionsFor(parts, caller, stored)
      if (code === undefined || !caller.hasTotp) return options
      return withCode(parts, caller, visit, async (client) =>
        (await acceptCode(client, caller.userId, code, sealingKeys)) ? options : refused.code,
      )
    }),
    endpoint(contracts.addPasskey, async ({ caller, body: { name, credential }, visit }) => {
      const created = await checkCreated(credential, expected(['add', caller.userId, caller.sessionId]))
      if (created === undefined) return refused.passkey
      return inScope(pool, scopeOf(caller, visit), async (client) => {
        const made = await passkeys.insertPasskey(client, caller.userId, { name, ...created })
        if (made === 'too_many') return { problem: { code: 'too_many_passkeys' } }
        if (made === 'known') return refused.passkey
        await tell(client, caller, 'passkey_added', name)
        return { status: 201, body: passkeys.shownPasskey(made) }
      })
    }),
    endpoint(contracts.removePasskey, async ({ caller, params: { passkey_id }, body, visit }) => {
      const own = await inReadScope(pool, null, (client) => passkeys.listPasskeys(client, caller.userId))
      if (!own.some(({ id }) => id === passkey_id.toLowerCase())) return { problem: { code: 'not_found' } }
      const known = await checkOwnPassword(parts, caller, body.password, visit)
      if ('problem' in known) return known
      return inScope(pool, scopeOf(caller, visit), async (client) => {
        const name = await passkeys.deletePasskey(client, caller.userId, passkey_id)
        if (name === undefined) return { problem: { code: 'not_found' } }
        await tell(client, caller, 'passkey_removed', name)
        return { status: 204 }
      })
    }),
  ]
}

/** A session, unless the user is blocked, or this or a later challenge was already accepted. */
function signIn(
  { pool }: PeopleParts,
  { id, userId }: passkeys.StoredPasskey,
  signed: { readonly counter: number; readonly issuedAt: Date },
  visit: Visit,
) {
  return inScope(pool, scopeOfPerson(userId, null, visit), async (client) => {
    if (!(await maySignIn(client, userId))) return undefined
    if (!(await passkeys.noteSignature(client, id, signed))) return undefined
    await noteSignIn(client, userId, 'passkey')
    // The device has proven possession, and its user a finger, a face or a PIN.
    return beginSession(client, userId, 'all_with_code', visit)
  })
}

function optionsFor(
  { appUrl, sealingKeys }: PeopleParts,
  { userId, sessionId, email }: Person,
  stored: readonly Buffer[],
) {
  return {
    status: 200,
    body: {
      challenge: newChallenge(['add', userId, sessionId], Date.now(), sealingKeys),
      timeout: challengeLastsMs,
      rp: { id: siteOf(appUrl).id, name: 'Model Gateway' },
      user: { id: handleOf(userId), name: email, displayName: email },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg }) as const),
      excludeCredentials: stored.map((id) => ({ type: 'public-key', id: id.toString('base64url') }) as const),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    },
  } as const
}

async function tell(
  client: ScopedClient,
  { email, locale }: Person,
  kind: 'passkey_added' | 'passkey_removed',
  name: string,
): Promise<void> {
  await enqueueLetter(client, { kind, vars: { name }, recipient: email, locale })
}
