import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inScope, type Scope } from '#core/audit/scope'
import { bringKey, differenceOf, makeDraftedKey } from '#core/keys/drafted-key'
import { findKey, hashKey, type KeySecret } from '#core/keys/key'
import { deliveryOf } from '#core/keys/key-delivery'
import { type KeyState, readKeyState } from '#core/keys/key-state'
import { findKeyNamed, finishDelivery, mintUndelivered, revokeKey } from '#core/keys/key-store'
import { findKeptKey, forgetKey, keepKey } from '../../keys/key-file.ts'
import type { Owned } from './owned.ts'
import type { DesiredKey } from './plan-manifests.ts'

export type ApplyKeyDeps = {
  readonly pool: Pool
  readonly dataDir: string
  readonly keyPepper: string
  /** Gets the secret of a new key. It cannot be shown again. */
  readonly onKeySecret: (name: string, secret: string) => void
}

type OwnedKey = Owned['keys'][string]

/**
 * Applies a key's manifest with the operator's own commands. Only its secret goes into a file. The secret is created,
 * stored, and then recorded as delivered, so that a run that dies in between leaves no unknown secret.
 *
 * @param noted the record of earlier runs, if this database has the key.
 */
export async function applyKey(
  deps: ApplyKeyDeps,
  organizationId: string,
  desired: DesiredKey,
  noted: OwnedKey | undefined,
): Promise<OwnedKey> {
  const { position, organization, rotationTrigger, deletionPolicy } = desired
  const scope = manifestScope(position.file, organizationId)
  const key = await findExisting(deps.pool, organizationId, desired, noted)
  const keyId = key?.keyId ?? randomUUID()
  if (key === undefined) await makeKey(deps, scope, keyId, desired)
  else await keepAsDesired(deps, scope, key, desired, noted)
  return { file: position.file, keyId, organization, rotationTrigger, deletionPolicy }
}

/** An orphaned key keeps working and keeps its file, but belongs to no resource. */
export async function endKey(
  { pool, dataDir }: ApplyKeyDeps,
  name: string,
  key: OwnedKey | undefined,
): Promise<void> {
  if (key?.deletionPolicy !== 'Revoke') return
  await inScope(pool, manifestScope(key.file, null), (client) => revokeKey(client, key.keyId))
  forgetKey(dataDir, name)
}

/** @param file the manifest's file, now or earlier */
export function manifestScope(file: string | undefined, organizationId: string | null): Scope {
  const reason = file === undefined ? undefined : `manifest ${file}`
  return { actor: { kind: 'command', name: 'npm start' }, organizationId, reason }
}

/** The recorded key, or a key created by a run that died before recording it. */
async function findExisting(
  pool: Pool,
  organizationId: string,
  { name }: DesiredKey,
  noted: OwnedKey | undefined,
): Promise<KeyState | undefined> {
  const keyId = noted?.keyId ?? (await findKeyNamed(pool, { organizationId, name, managedBy: 'kubernetes' }))
  return keyId === undefined ? undefined : readKeyState(pool, keyId)
}

async function makeKey(deps: ApplyKeyDeps, scope: Scope, keyId: string, desired: DesiredKey): Promise<void> {
  const secret = await inScope(deps.pool, scope, async (client) => {
    await makeDraftedKey(client, keyId, scope.organizationId ?? '', desired)
    return mintUndelivered(client, keyId, deps.keyPepper)
  })
  await deliver(deps, scope, keyId, desired.name, secret, 0)
}

async function keepAsDesired(
  deps: ApplyKeyDeps,
  scope: Scope,
  key: KeyState,
  desired: DesiredKey,
  noted: OwnedKey | undefined,
): Promise<void> {
  const { keyId } = key
  const difference = differenceOf(key, desired)
  const isSame = Object.values(difference).every((news) => news === undefined)
  if (!isSame) await inScope(deps.pool, scope, (client) => bringKey(client, keyId, difference))
  if (!key.revoked) await keepDelivered(deps, scope, key, desired, noted)
}

async function keepDelivered(
  deps: ApplyKeyDeps,
  scope: Scope,
  { keyId, secrets }: KeyState,
  { name, rotationTrigger, rotationGraceS }: DesiredKey,
  noted: OwnedKey | undefined,
): Promise<void> {
  const kept = findKey(findKeptKey(deps.dataDir, name) ?? '', deps.keyPepper)?.key
  const held = kept && secrets.find(({ hash }) => hash === hashKey(kept, deps.keyPepper))?.hash
  const delivery = deliveryOf({
    secrets,
    trigger: { asked: rotationTrigger, noted: noted === undefined ? rotationTrigger : noted.rotationTrigger },
    // The owner may move the file of a recorded key. For any other key, nothing shows that the file existed.
    held: held ?? (noted === undefined ? 'absent' : 'taken'),
  })
  // A run died after storing the secret.
  if (delivery.is === 'unfinished' && kept !== undefined)
    return finish(deps, scope, keyId, kept, rotationGraceS)
  if (delivery.is !== 'due') return
  const secret = await inScope(deps.pool, scope, (client) => mintUndelivered(client, keyId, deps.keyPepper))
  await deliver(deps, scope, keyId, name, secret, noted === undefined ? 0 : rotationGraceS)
}

async function deliver(
  deps: ApplyKeyDeps,
  scope: Scope,
  keyId: string,
  name: string,
  secret: KeySecret,
  graceS: number,
): Promise<void> {
  keepKey(deps.dataDir, name, secret)
  deps.onKeySecret(name, secret)
  await finish(deps, scope, keyId, secret, graceS)
}

async function finish(
  { pool, keyPepper }: ApplyKeyDeps,
  scope: Scope,
  keyId: string,
  secret: KeySecret,
  graceS: number,
): Promise<void> {
  await inScope(pool, scope, (client) => finishDelivery(client, keyId, hashKey(secret, keyPepper), graceS))
}
