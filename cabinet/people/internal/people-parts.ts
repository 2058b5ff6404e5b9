import type { Pool } from 'pg'
import type { TrialRules } from '#core/ledger/trial-settings'
import type { KeyList } from '#core/process/key-list'
import type { Attempts } from '../attempts.ts'
import type { Passwords } from '../password.ts'

/** Dependencies of the account endpoints. */
export type PeopleParts = {
  readonly pool: Pool
  readonly passwords: Passwords
  readonly passwordAttempts: Attempts
  readonly codeAttempts: Attempts
  readonly keyPepper: string
  readonly trials: TrialRules
  readonly sealingKeys: KeyList<Uint8Array>
  /** Without a trailing slash. */
  readonly appUrl: string
}
