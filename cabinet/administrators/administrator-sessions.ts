import type { Pool } from 'pg'
import type { Administrator } from '../api/access.ts'
import type { SessionGate } from '../api/session-gate.ts'
import { findSession } from './internal/session-rows.ts'

/** How long a code of the second factor counts as recent. */
const stepUpMs = 5 * 60_000

/** The sessions of administrators. No other session opens anything here, and these open nothing elsewhere. */
export function administratorSessions(pool: Pool): SessionGate {
  return {
    cookies: {
      session: '__Host-model_gateway_administration',
      device: '__Host-model_gateway_administration_device',
      sameSite: 'strict',
    },
    async findCaller(access, token) {
      if (access.to === 'anyone') return { caller: undefined }
      if (access.to !== 'administrator') throw new Error(`administration has no ${access.to}`)
      const administrator = token === undefined ? undefined : await findSession(pool, token)
      if (administrator === undefined) return { problem: { code: 'unauthenticated' } }
      if (access.again === true && !isRecent(administrator, Date.now()))
        return { problem: { code: 'mfa_step_up_required' } }
      return { caller: administrator }
    },
  }
}

function isRecent({ mfaAt }: Administrator, nowMs: number): boolean {
  return mfaAt.getTime() >= nowMs - stepUpMs
}
