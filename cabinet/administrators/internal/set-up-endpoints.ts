import { inScope } from '#core/audit/scope'
import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { busy, refused } from '../../people/problems.ts'
import { newTotpSecret, otpauthUri, readCode, sealTotpSecret } from '../../people/totp-code.ts'
import { confirmSetUp, setUp } from '../administrator-contracts.ts'
import { attemptsName, ownScope, type Parts } from './parts.ts'
import { renewRecoveryCodes } from './second-factor.ts'
import { beginSession, endSessions } from './session-rows.ts'
import { confirmChoice, findSetUp, keepChoice } from './set-up.ts'

/** Endpoints that turn a printed token into a password and a second factor. */
export function setUpEndpoints({ pool, passwords, codeAttempts, sealingKeys }: Parts): readonly Endpoint[] {
  return [
    endpoint(setUp, async ({ body: { token, password }, visit }) => {
      const found = await findSetUp(pool, token)
      if (found === undefined) return refused.token
      const passwordHash = await passwords.hash(password, 'known')
      if (passwordHash === 'busy') return busy('known')
      const { administratorId, email } = found
      const secret = newTotpSecret()
      const sealed = sealTotpSecret(secret, administratorId, sealingKeys)
      const isKept = await inScope(pool, ownScope(administratorId, visit), (client) =>
        keepChoice(client, token, { passwordHash, sealed }),
      )
      return isKept
        ? { status: 200, body: { secret, otpauth_uri: otpauthUri(email, secret) } }
        : refused.token
    }),

    endpoint(confirmSetUp, async ({ body: { token, code }, visit }) => {
      const found = await findSetUp(pool, token)
      if (found === undefined) return refused.token
      const { administratorId, sealed } = found
      if (sealed === null) return { problem: { code: 'conflict' } }
      const attempts = attemptsName(`${administratorId} setup`)
      const problem = await codeAttempts.begin(attempts, { known: undefined, work: visit.work })
      if (problem !== undefined) return { problem }
      const { step } = readCode(administratorId, sealed, code, sealingKeys)
      if (step === undefined) return refused.code
      const done = await inScope(pool, ownScope(administratorId, visit), async (client) => {
        if (!(await confirmChoice(client, token, found, step))) return undefined
        await endSessions(client, administratorId)
        const recovery_codes = await renewRecoveryCodes(client, administratorId)
        return { recovery_codes, session: await beginSession(client, administratorId, visit) }
      })
      if (done === undefined) return refused.token
      await codeAttempts.forget(attempts, undefined)
      const { recovery_codes, session } = done
      return { status: 200, body: { recovery_codes }, session, knownTo: administratorId }
    }),
  ]
}
