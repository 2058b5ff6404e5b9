import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import { type ClusterResource, putResource, removeResource } from '#core/clusters/cluster-resources'
import { observeNamespace } from '#core/clusters/namespace-observations'
import { forgetOrphan, noteOrphan } from '#core/clusters/orphaned-keys'
import { bringKey, makeDraftedKey } from '#core/keys/drafted-key'
import { hashKey, type KeySecret } from '#core/keys/key'
import { type KeyState, readKeyState } from '#core/keys/key-state'
import { finishDelivery, mintUndelivered, restoreSecret, revokeKey, setManagedBy } from '#core/keys/key-store'
import { type ClusterClient, ClusterRefused, type ObjectChange } from '../../runtime/cluster-client.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { type FencedDatabase, type Writer, writeFenced } from '../../runtime/fenced-database.ts'
import { apiKeys, secrets } from '../../runtime/resources.ts'
import { withFinalizer, withoutFinalizer } from '../finalizer.ts'
import {
  findHeldSecret,
  newSecret,
  type SecretContent,
  secretChange,
  secretRelease,
} from './delivered-secret.ts'
import { type GatherDeps, type KeyLook, viewOf, wishOf } from './gather-key.ts'
import type { GatheredKey } from './gathered-key.ts'
import type { KeyStep } from './plan-key.ts'

export type ApplyDeps = GatherDeps &
  FencedDatabase & {
    readonly client: Pick<ClusterClient, 'find' | 'create' | 'patch'>
    /** The key once the data plane has its current state, or as it is after a timeout. */
    readonly untilProjected: (keyId: string) => Promise<KeyState | undefined>
  }

/** An object was changed, created or deleted since it was read: reconcile again. */
class ChangedMeanwhile extends Error {
  constructor(what: string) {
    super(`${what} has changed since it was read`)
    this.name = 'ChangedMeanwhile'
  }
}

/**
 * Performs one step of a plan and returns what is known after it. `gone`: the object no longer exists.
 *
 * @throws PostgresUnavailable, Superseded, ClusterUnavailable, ClusterRefused, ChangedMeanwhile
 */
export async function applyKeyStep(deps: ApplyDeps, look: KeyLook, step: KeyStep): Promise<KeyLook | 'gone'> {
  switch (step.do) {
    case 'addFinalizer':
      return addFinalizer(deps, look)
    case 'dropFinalizer':
      await setFinalizers(deps, look.object, withoutFinalizer(look.object))
      return 'gone'
    case 'awaitProjection': {
      const { key } = look.gathered
      const state = key && (await deps.untilProjected(key.keyId))
      return withGathered(deps, look, { key: state ?? key, patience: state?.isProjected ? 'some' : 'none' })
    }
    case 'writeSecret':
      return writeSecret(deps, look, step)
    case 'releaseSecret':
      return releaseSecret(deps, look)
    default:
      return withGathered(deps, look, await applyToRow(deps, look, step))
  }
}

type RowStep = Extract<
  KeyStep,
  {
    do:
      | 'makeKey'
      | 'restoreKey'
      | 'updateKey'
      | 'mint'
      | 'finishDelivery'
      | 'revokeKey'
      | 'offboardKey'
      | 'adoptKey'
      | 'handOver'
      | 'forgetKey'
  }
>

/** The state after a write to the database. */
type Written = Pick<GatheredKey, 'resource' | 'key'> & Partial<GatheredKey>

async function applyToRow(deps: ApplyDeps, look: KeyLook, step: RowStep): Promise<Written> {
  if (step.do === 'makeKey') return makeKey(deps, look, step)
  if (step.do === 'restoreKey') return restoreKey(deps, look, step)
  if (step.do === 'adoptKey') return adoptKey(deps, look, step)
  const { resource, key } = look.gathered
  if (resource === undefined) return { resource, key }
  return writeFenced(deps, writerOf(look, key?.organizationId), async (client) => {
    switch (step.do) {
      case 'updateKey':
        await noteLabel(deps, client, look.gathered)
        return updateKey(client, look, resource, step)
      case 'mint':
        return { resource, ...(await mint(deps, client, resource.subject)) }
      case 'finishDelivery':
        return finish(deps, client, look, resource, step)
      case 'revokeKey':
        await revokeKey(client, resource.subject)
        return { resource, key: await readKeyState(client, resource.subject) }
      case 'offboardKey':
        await revokeKey(client, resource.subject)
        await removeResource(client, resource)
        return { resource: undefined, key: undefined }
      case 'handOver':
        await setManagedBy(client, resource.subject, 'cabinet')
        await noteOrphan(client, resource)
        return { resource: undefined, key: undefined }
      case 'forgetKey':
        await removeResource(client, resource)
        return { resource: undefined, key: undefined }
    }
  })
}

/**
 * Records the namespace's label, which the database requires before it lets a key of this organization be
 * created.
 */
async function noteLabel(
  deps: ApplyDeps,
  client: ScopedClient,
  { object, namespace, organization }: GatheredKey,
): Promise<void> {
  if (organization === undefined || namespace.organization !== organization.name) return
  await observeNamespace(client, deps.fence(), object.ref.namespace, organization.id)
}

async function makeKey(
  deps: ApplyDeps,
  look: KeyLook,
  { draft, handOver }: Extract<KeyStep, { do: 'makeKey' }>,
): Promise<Written> {
  const { gathered } = look
  const { organization } = gathered
  if (organization === undefined) return gathered
  // The key that the name had is of another organization.
  const writer = writerOf(look, handOver === undefined ? organization.id : undefined)
  return writeFenced(deps, writer, async (client) => {
    await noteLabel(deps, client, gathered)
    if (handOver !== undefined) await setManagedBy(client, handOver, 'cabinet')
    const resource = noteOf(gathered, randomUUID())
    await putResource(client, resource) // no other object can have this subject
    await makeDraftedKey(client, resource.subject, organization.id, draft)
    return { resource, ...(await mint(deps, client, resource.subject)), lostKeyId: undefined }
  })
}

async function restoreKey(
  deps: ApplyDeps,
  look: KeyLook,
  { draft, keyId, hash }: Extract<KeyStep, { do: 'restoreKey' }>,
): Promise<Written> {
  const { gathered, secret } = look
  const { organization } = gathered
  const keySecret = findHeldSecret(secret, hash, deps.keyPepper)
  if (organization === undefined || keySecret === undefined) return gathered
  const rotationTrigger = gathered.secret.state === 'ours' ? gathered.secret.rotationTrigger : null
  return writeFenced(deps, writerOf(look, organization.id), async (client) => {
    await noteLabel(deps, client, gathered)
    const resource = { ...noteOf(gathered, keyId), rotationTrigger }
    const put = await putResource(client, resource)
    if (put !== 'put') return { ...gathered, conflict: put.conflict }
    await makeDraftedKey(client, keyId, organization.id, draft)
    // Taken by another key: then this one has no secret, and is given a new one.
    await restoreSecret(client, keyId, keySecret, deps.keyPepper)
    return { resource, key: await readKeyState(client, keyId), lostKeyId: undefined }
  })
}

async function adoptKey(
  deps: ApplyDeps,
  look: KeyLook,
  step: Extract<KeyStep, { do: 'adoptKey' }>,
): Promise<Written> {
  const { gathered } = look
  const { keyId, rotatedAt } = step
  const rotationTrigger = gathered.secret.state === 'ours' ? gathered.secret.rotationTrigger : null
  return writeFenced(deps, writerOf(look, gathered.organization?.id), async (client) => {
    await noteLabel(deps, client, gathered)
    const resource = { ...noteOf(gathered, keyId), rotationTrigger, rotatedAt }
    const put = await putResource(client, resource)
    if (put !== 'put') return { ...gathered, conflict: put.conflict }
    await setManagedBy(client, keyId, 'kubernetes')
    await forgetOrphan(client, keyId)
    await bringKey(client, keyId, step)
    return { resource, key: await readKeyState(client, keyId), orphan: undefined }
  })
}

async function updateKey(
  client: ScopedClient,
  { gathered }: KeyLook,
  before: ClusterResource,
  step: Extract<KeyStep, { do: 'updateKey' }>,
): Promise<Written> {
  const keyId = before.subject
  await bringKey(client, keyId, step)
  const { rotationTrigger } = step
  const { rotatedAt } = before
  const resource = { ...noteOf(gathered, keyId), rotationTrigger, rotatedAt }
  await putResource(client, resource)
  return { resource, key: await readKeyState(client, keyId) }
}

async function finish(
  deps: ApplyDeps,
  client: ScopedClient,
  { gathered }: KeyLook,
  before: ClusterResource,
  { hash, graceS, rotationTrigger }: Extract<KeyStep, { do: 'finishDelivery' }>,
): Promise<Written> {
  const keyId = before.subject
  const isFinished = (await finishDelivery(client, keyId, hash, graceS)) === 'finished'
  deps.minted.delete(keyId)
  const resource = isFinished ? { ...before, rotationTrigger, rotatedAt: new Date(gathered.nowMs) } : before
  await putResource(client, resource)
  return { resource, key: await readKeyState(client, keyId) }
}

async function mint(deps: ApplyDeps, client: ScopedClient, keyId: string) {
  const keySecret = await mintUndelivered(client, keyId, deps.keyPepper)
  const hash = hashKey(keySecret, deps.keyPepper)
  // Before the commit: a secret whose commit fails is not accepted, and one whose commit is uncertain is
  // found by its hash.
  deps.minted.set(keyId, { hash, keySecret })
  return { key: await readKeyState(client, keyId), minted: hash }
}

function writerOf({ gathered }: KeyLook, organizationId: string | undefined): Writer {
  const { kind, namespace, name } = gathered.object.ref
  return { kind, namespace, name, organizationId }
}

function noteOf({ object }: GatheredKey, subject: string): ClusterResource {
  const { ref, uid, generation } = object
  return { ...ref, uid, generation, subject, revision: null, rotationTrigger: null, rotatedAt: null }
}

async function writeSecret(
  deps: ApplyDeps,
  look: KeyLook,
  { hash, source }: Extract<KeyStep, { do: 'writeSecret' }>,
): Promise<KeyLook> {
  const { secret, gathered } = look
  const keyId = gathered.key?.keyId ?? ''
  const keySecret =
    source === 'minted' ? deps.minted.get(keyId)?.keySecret : findHeldSecret(secret, hash, deps.keyPepper)
  if (keySecret === undefined) throw new ChangedMeanwhile('the secret to deliver')
  const { draft } = gathered
  const rotationTrigger = 'fault' in draft ? null : draft.rotationTrigger
  const content = source === 'minted' ? { keySecret, rotationTrigger } : { keySecret }
  return orRefused(deps, look, putSecret(deps, look, content), keySecret)
}

async function releaseSecret(deps: ApplyDeps, look: KeyLook): Promise<KeyLook> {
  const { secret, read } = look
  if (secret === undefined) return look
  return orRefused(deps, look, patchSecret(deps, secret, secretRelease(secret, read.object.uid)), undefined)
}

/**
 * The state after writing the Secret: the Secret, or why the API server rejected it, never with the key's
 * secret.
 */
async function orRefused(
  deps: ApplyDeps,
  look: KeyLook,
  written: Promise<ClusterObject>,
  keySecret: KeySecret | undefined,
): Promise<KeyLook> {
  try {
    return withSecret(deps, look, await written)
  } catch (error) {
    if (!(error instanceof ClusterRefused)) throw error
    return withGathered(deps, look, { refusal: refusalOf(error, keySecret) })
  }
}

/**
 * Creates the Secret only if there is none, and changes it only in the version that was read: no other Secret
 * is ever overwritten.
 */
async function putSecret(deps: ApplyDeps, look: KeyLook, content: SecretContent): Promise<ClusterObject> {
  const wish = wishOf(deps, look)
  if (look.secret !== undefined)
    return patchSecret(deps, look.secret, secretChange(look.secret, wish, content, deps.keyPepper))
  const made = await deps.client.create(secrets, newSecret(wish, content))
  if (made === 'exists') throw new ChangedMeanwhile(`Secret ${wish.name}`)
  return made
}

async function patchSecret(
  { client }: ApplyDeps,
  secret: ClusterObject,
  change: ObjectChange,
): Promise<ClusterObject> {
  const patched = await client.patch(secrets, secret, change)
  if (patched === 'gone' || patched === 'conflict')
    throw new ChangedMeanwhile(`Secret ${secret.metadata.name}`)
  return patched
}

function refusalOf(
  { message, reasons }: ClusterRefused,
  keySecret: KeySecret | undefined,
): GatheredKey['refusal'] {
  const secretParts = keySecret === undefined ? [] : [keySecret, Buffer.from(keySecret).toString('base64')]
  const isTerminating = reasons.includes('NamespaceTerminating')
  return {
    reason: isTerminating ? 'NamespaceTerminating' : 'SecretRefused',
    message: secretParts.reduce((clean, part) => clean.replaceAll(part, '…'), message),
  }
}

async function addFinalizer(deps: ApplyDeps, look: KeyLook): Promise<KeyLook | 'gone'> {
  const object = await setFinalizers(deps, look.object, withFinalizer(look.object))
  if (object === 'gone') return 'gone'
  return {
    ...look,
    object,
    gathered: { ...look.gathered, object: { ...look.gathered.object, hasFinalizer: true } },
  }
}

async function setFinalizers(
  { client }: Pick<ApplyDeps, 'client'>,
  object: ClusterObject,
  finalizers: readonly string[],
): Promise<ClusterObject | 'gone'> {
  const patched = await client.patch(apiKeys, object, { metadata: { finalizers } })
  if (patched === 'conflict') throw new ChangedMeanwhile(`ApiKey ${object.metadata.name}`)
  return patched
}

function withSecret(deps: ApplyDeps, look: KeyLook, secret: ClusterObject): KeyLook {
  return withGathered(deps, { ...look, secret }, {})
}

function withGathered(deps: ApplyDeps, look: KeyLook, news: Partial<GatheredKey>): KeyLook {
  const next = { ...look, gathered: { ...look.gathered, ...news } }
  return { ...next, gathered: { ...next.gathered, secret: viewOf(deps, next) } }
}
