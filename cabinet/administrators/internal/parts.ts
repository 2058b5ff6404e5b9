import type { Pool } from 'pg'
import { type Scope, scopeOfAdministrator } from '#core/audit/scope'
import type { KeyList } from '#core/process/key-list'
import type { Visit } from '../../api/endpoint.ts'
import type { Attempts } from '../../people/attempts.ts'
import type { Passwords } from '../../people/password.ts'

/** Dependencies of the endpoints of an administrator's account. */
export type Parts = {
  readonly pool: Pool
  readonly passwords: Passwords
  readonly passwordAttempts: Attempts
  readonly codeAttempts: Attempts
  readonly sealingKeys: KeyList<Uint8Array>
}

/** Who writes, when an administrator changes their own account. */
export function ownScope(administratorId: string, visit: Visit): Scope {
  return scopeOfAdministrator(administratorId, visit)
}

/** Attempts are counted apart from those on a user's account with the same address. */
export function attemptsName(account: string): string {
  return `administrator ${account}`
}
