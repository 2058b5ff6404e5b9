import type { Pool } from 'pg'
import type { TrialRules } from '#core/ledger/trial-settings'
import type { KeyList } from '#core/process/key-list'
import type { Endpoint } from '../api/endpoint.ts'
import type { Throttles } from '../api/throttles.ts'
import { codeAttempts, passwordAttempts } from './attempts.ts'
import { emailChangeEndpoints } from './internal/email-change-endpoints.ts'
import { meEndpoints } from './internal/me-endpoints.ts'
import { passkeyEndpoints } from './internal/passkey-endpoints.ts'
import { passwordEndpoints } from './internal/password-endpoints.ts'
import { registrationEndpoints } from './internal/registration-endpoints.ts'
import { signInEndpoints } from './internal/sign-in-endpoints.ts'
import { totpEndpoints } from './internal/totp-endpoints.ts'
import { createPasswords } from './password.ts'

type Deps = {
  readonly pool: Pool
  readonly throttles: Throttles
  readonly config: {
    readonly keyPepper: string
    readonly sealingKeys: KeyList<Uint8Array>
    readonly appUrl: string
    readonly trials: TrialRules
  }
}

/** Account endpoints: registration, sign-in, passwords, second factors, passkeys and consents. */
export function peopleEndpoints({ pool, throttles, config }: Deps): readonly Endpoint[] {
  const parts = {
    pool,
    ...config,
    passwords: createPasswords(),
    passwordAttempts: passwordAttempts(throttles),
    codeAttempts: codeAttempts(throttles),
  }
  return [
    ...registrationEndpoints(parts),
    ...signInEndpoints(parts),
    ...passwordEndpoints(parts),
    ...meEndpoints(parts),
    ...totpEndpoints(parts),
    ...passkeyEndpoints(parts),
    ...emailChangeEndpoints(parts),
  ]
}
