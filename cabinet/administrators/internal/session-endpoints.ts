import { inScope, type ScopedClient } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Administrator } from '../../api/access.ts'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import { notFound, type Problem } from '../../api/problem.ts'
import { refused } from '../../people/problems.ts'
import { shownSession } from '../../people/session-store.ts'
import { endSession, listSessions, readMe, renewCodes, stepUp } from '../administrator-contracts.ts'
import { attemptsName, ownScope, type Parts } from './parts.ts'
import { acceptCode, renewRecoveryCodes } from './second-factor.ts'
import { endSessions, listLiveSessions, noteCode } from './session-rows.ts'

/** Endpoints for the signed-in administrator's own account. */
export function sessionEndpoints(parts: Parts): readonly Endpoint[] {
  const { pool } = parts
  return [
    endpoint(readMe, async ({ caller: { administratorId, email, mfaAt } }) => {
      const { rows } = await pool.query<{ left: number }>(
        `select count(*)::int as left from administrator_recovery_codes
          where administrator_id = $1 and used_at is null`,
        [administratorId],
      )
      const recovery_codes_left = rows[0]?.left ?? 0
      return {
        status: 200,
        body: { id: administratorId, email, mfa_at: mfaAt.toISOString(), recovery_codes_left },
      }
    }),
    endpoint(listSessions, async ({ caller: { administratorId, sessionId } }) => {
      const sessions = await listLiveSessions(pool, administratorId)
      return { status: 200, body: { data: sessions.map((session) => shownSession(session, sessionId)) } }
    }),
    endpoint(endSession, async ({ caller, params: { session_id: sessionId }, visit }) => {
      if (!isId(sessionId)) return notFound
      const { administratorId } = caller
      const ended = await inScope(pool, ownScope(administratorId, visit), (client) =>
        endSessions(client, administratorId, sessionId),
      )
      if (ended === 0) return notFound
      return caller.sessionId === sessionId.toLowerCase()
        ? { status: 204, session: 'ended' }
        : { status: 204 }
    }),
    endpoint(stepUp, async ({ caller, body, visit }) =>
      withCode(parts, caller, { code: body.code, visit }, async (client) => {
        await noteCode(client, caller.sessionId)
        return { status: 204 }
      }),
    ),
    endpoint(renewCodes, async ({ caller, body, visit }) =>
      withCode(parts, caller, { code: body.code, visit }, async (client) => ({
        status: 200,
        body: { recovery_codes: await renewRecoveryCodes(client, caller.administratorId) },
      })),
    ),
  ]
}

/** Does `work` in one transaction if the code is valid, unless there were too many attempts. */
async function withCode<const Answer extends object>(
  { pool, codeAttempts, sealingKeys }: Parts,
  { administratorId, sessionId }: Administrator,
  { code, visit }: { readonly code: string; readonly visit: Visit },
  work: (client: ScopedClient) => Promise<Answer>,
): Promise<Answer | { readonly problem: Problem }> {
  const account = attemptsName(administratorId)
  const problem = await codeAttempts.begin(account, { known: sessionId, work: 0 })
  if (problem !== undefined) return { problem }
  const answer = await inScope(pool, ownScope(administratorId, visit), async (client) =>
    (await acceptCode(client, administratorId, code, sealingKeys)) ? work(client) : undefined,
  )
  if (answer === undefined) return refused.code
  await codeAttempts.forget(account, sessionId)
  return answer
}
