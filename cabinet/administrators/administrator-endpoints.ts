import type { Pool } from 'pg'
import type { KeyList } from '#core/process/key-list'
import type { Endpoint } from '../api/endpoint.ts'
import type { Throttles } from '../api/throttles.ts'
import { codeAttempts, passwordAttempts } from '../people/attempts.ts'
import { createPasswords } from '../people/password.ts'
import { sessionEndpoints } from './internal/session-endpoints.ts'
import { setUpEndpoints } from './internal/set-up-endpoints.ts'
import { signInEndpoints } from './internal/sign-in-endpoints.ts'

type Deps = {
  readonly pool: Pool
  readonly throttles: Throttles
  /** 32 bytes each. The first key encrypts the secrets of second factors. */
  readonly sealingKeys: KeyList<Uint8Array>
}

/** Endpoints of an administrator's own account: set-up, sign-in, sessions, codes. */
export function administratorEndpoints({ pool, throttles, sealingKeys }: Deps): readonly Endpoint[] {
  const parts = {
    pool,
    sealingKeys,
    passwords: createPasswords(),
    passwordAttempts: passwordAttempts(throttles),
    codeAttempts: codeAttempts(throttles),
  }
  return [...setUpEndpoints(parts), ...signInEndpoints(parts), ...sessionEndpoints(parts)]
}
