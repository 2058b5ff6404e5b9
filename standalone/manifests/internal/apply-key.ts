import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inScope, type Scope } from '#cabinet/audit/scope'
import { bringKey, differenceOf, makeDraftedKey } from '#cabinet/keys/drafted-key'
import { findKey, hashKey, type KeySecret } from '#cabinet/keys/key'
import { deliveryOf } from '#cabinet/keys/key-delivery'
import { type KeyState, readKeyState } from '#cabinet/keys/key-state'
import { findKeyNamed, finishDelivery, mintUndelivered, revokeKey } from '#cabinet/keys/key-store'
import { findKeptKey, forgetKey, keepKey } from '../../keys/key-file.ts'
import type { Owned } from './owned.ts'
import type { DesiredKey } from './plan-manifests.ts'

export type ApplyKeyDeps = {
  readonly pool: Pool
  readonly dataDir: string
  readonly keyPepper: string
  /** Hears the secret of a key when it is made; nobody can say it again. */
  readonly onKeySecret: (name: string, secret: string) => void
}

type OwnedKey = Owned['keys'][string]

/**
 * Brings a key to what its manifest asks for, with the operator's own commands: only its secret goes into a file. It is
 * minted, kept, and then noted as delivered, so that a run that dies between leaves none that nobody knows.
 *
 * @param noted what earlier runs have noted of it, where this database has that key.
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

/** An orphan goes on working and keeps its file; it is nobody's resource any more. */
export async function endKey(
  { pool, dataDir }: ApplyKeyDeps,
  name: string,
  key: OwnedKey | undefined,
): Promise<void> {
  if (key?.deletionPolicy !== 'Revoke') return
  await inScope(pool, manifestScope(key.file, null), (client) => revokeKey(client, key.keyId))
  forgetKey(dataDir, name)
}

/** @param file that asks for it, or did. */
export function manifestScope(file: string | undefined, organizationId: string | null): Scope {
  const reason = file === undefined ? undefined : `manifest ${file}`
  return { actor: { kind: 'command', name: 'npm start' }, organizationId, reason }
}

/** The key that was noted, or one that was made by a run that died before it noted it. */
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
    // Owners may move the file of a key that was noted; of any other, nothing says that there ever was one.
    held: held ?? (noted === undefined ? 'absent' : 'taken'),
  })
  // A run died after it had kept it.
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
