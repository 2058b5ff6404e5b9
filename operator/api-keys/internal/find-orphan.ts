import type { Pool } from 'pg'
import { findOrphanedKey } from '#core/clusters/orphaned-keys'
import { orUnavailable } from '#core/db/availability'
import { type KeyState, readKeyState } from '#core/keys/key-state'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { findHeldSecret, leftBehindKeyId } from './delivered-secret.ts'
import type { GatheredKey } from './gathered-key.ts'
import { isDraft } from './key-verdicts.ts'

/** The key that an earlier ApiKey of this name left behind, if this one is to take it over. */
export async function findOrphan(
  { pool, keyPepper }: { readonly pool: Pool; readonly keyPepper: string },
  { object, draft, organization }: Pick<GatheredKey, 'object' | 'draft' | 'organization'>,
  secret: ClusterObject | undefined,
): Promise<GatheredKey['orphan']> {
  const keyId = leftBehindKeyId(secret)
  if (keyId === undefined || !isDraft(draft) || draft.adoption === 'Never') return undefined
  const orphan = await orUnavailable(findOrphanedKey(pool, object.ref, keyId))
  const key = orphan && (await orUnavailable(readKeyState(pool, keyId)))
  if (orphan === undefined || key === undefined) return undefined
  return isAdoptable(key, { organization, secret, keyPepper }) ? { key, ...orphan } : undefined
}

/**
 * Whether an orphaned key can be taken over: it is the cabinet's, of the same organization, and the Secret holds an API
 * key that opens it. Without that, taking it over would mean to rotate it, and to end API keys that others use. Pure.
 */
export function isAdoptable(
  key: KeyState,
  {
    organization,
    secret,
    keyPepper,
  }: Pick<GatheredKey, 'organization'> & {
    readonly secret: ClusterObject | undefined
    readonly keyPepper: string
  },
): boolean {
  const isOurs = key.managedBy === 'cabinet' && key.organizationId === organization?.id && !key.revoked
  const isHeld = key.secrets.some(
    ({ hash, state }) => state === 'live' && findHeldSecret(secret, hash, keyPepper) !== undefined,
  )
  return isOurs && isHeld
}
