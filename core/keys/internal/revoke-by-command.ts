import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { ScopedClient } from '../../audit/scope.ts'
import { readKeyState } from '../key-state.ts'
import { revokeKey } from '../key-store.ts'

/** The result of revoking a key. */
export type Revoked =
  | { readonly is: 'unknown' }
  | {
      /** `unheard`: the data plane does not have the revocation yet. */
      readonly is: 'refused' | 'unheard'
      readonly was: 'live' | 'revoked'
      readonly name: string
      readonly organization: string
    }

/** Longest wait for the data plane: a worker takes some 50 ms. */
const waitMs = 10_000
const pollMs = 50

/** Revokes a key and waits until the data plane rejects it, for a while. */
export async function revokeByCommand(
  pool: Pool,
  keyId: string,
  inScope: (work: (client: ScopedClient) => Promise<void>) => Promise<void>,
): Promise<Revoked> {
  const before = await readKeyState(pool, keyId)
  if (before === undefined) return { is: 'unknown' }
  await inScope((client) => revokeKey(client, keyId))
  const { name, organization } = before
  const is = (await isRefused(pool, keyId)) ? 'refused' : 'unheard'
  return { is, was: before.revoked ? 'revoked' : 'live', name, organization }
}

async function isRefused(pool: Pool, keyId: string): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += pollMs) {
    if ((await readKeyState(pool, keyId))?.isProjected === true) return true
    await pause(pollMs)
  }
  return false
}
