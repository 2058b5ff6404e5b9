import type { Pool } from 'pg'
import type { KeyList } from '../../process/key-list.ts'
import type { Attempts } from './attempts.ts'
import type { Passwords } from './password.ts'

/** What people's endpoints work with. */
export type PeopleParts = {
  readonly pool: Pool
  readonly passwords: Passwords
  readonly passwordAttempts: Attempts
  readonly codeAttempts: Attempts
  readonly keyPepper: string
  readonly sealingKeys: KeyList<Uint8Array>
  /** Without a slash at its end. */
  readonly appUrl: string
}
