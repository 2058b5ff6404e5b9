import type { ScopedClient } from '#core/audit/scope'
import { type ClusterResource, findResource, removeResource } from '#core/clusters/cluster-resources'
import { noteOrphan } from '#core/clusters/orphaned-keys'
import { orUnavailable } from '#core/db/availability'
import { type KeyState, mayBeAccepted, readKeyState } from '#core/keys/key-state'
import { blockKey, revokeKey, setManagedBy } from '#core/keys/key-store'
import { nameOfKey } from '../../runtime/cluster-object.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import { type FencedDatabase, writeFenced } from '../../runtime/fenced-database.ts'
import { apiKeys, apiVersionOf } from '../../runtime/resources.ts'
import type { GatheredKey } from './gathered-key.ts'
import { type VanishedEnd, vanishedEvent } from './key-events.ts'

type DeletionPolicy = GatheredKey['object']['deletionPolicy']

/** Ends the keys of ApiKeys that were deleted without our finalizer: someone removed it, or restored the cluster. */
export type VanishedKeys = {
  /**
   * Ends the key of a deleted ApiKey according to its deletion policy if that is known. Otherwise blocks the
   * key, which waits for an ApiKey of that name to take it over. Returns when to check again, if at all.
   *
   * @throws PostgresUnavailable, Superseded
   */
  end(key: string, policy: DeletionPolicy | undefined): Promise<{ readonly afterMs: number } | 'ended'>
  /** There is an ApiKey of this name. */
  forget(key: string): void
}

export type VanishedKeysOptions = FencedDatabase & {
  readonly clusterId: string
  readonly recorder: Pick<EventRecorder, 'record'>
  /**
   * For the log, where users find it even if the namespace was deleted together with its events. Default:
   * `onError`.
   */
  readonly onVanishedKey?: (error: unknown) => void
  readonly onError: (error: unknown) => void
  /** Called with the number of keys that wait for an ApiKey. */
  readonly onWaiting: (count: number) => void
  /** The key once the gateways have its current state; `undefined` after a while. */
  readonly untilProjected: (keyId: string) => Promise<KeyState | undefined>
  /**
   * How long to wait for the gateways to reject a revoked key before an event reports that they may still
   * accept it.
   */
  readonly revocationWaitMs: number
}

/**
 * Time for an ApiKey of the same name to take over a key that is to be handed over, as the override annotation
 * promises.
 */
const heirMs = 10_000
/** Between two checks whether the gateways reject a revoked key, once that takes long. */
const unconfirmedPollMs = 5_000

export function createVanishedKeys(options: VanishedKeysOptions): VanishedKeys {
  const { pool, clusterId, recorder, onWaiting } = options
  const onVanishedKey = options.onVanishedKey ?? options.onError
  const goneSinceMs = new Map<string, number>()
  const waiting = new Set<string>()

  function tell({ namespace, name, uid, subject }: ClusterResource, end: VanishedEnd): void {
    const event = vanishedEvent(end, subject)
    const apiVersion = apiVersionOf(apiKeys)
    recorder.record({ apiVersion, kind: apiKeys.kind, metadata: { namespace, name, uid } }, event)
    onVanishedKey(new Error(`ApiKey ${namespace}/${name}, key ${subject}: ${event.note}`))
  }

  function forget(key: string): void {
    goneSinceMs.delete(key)
    if (waiting.delete(key)) onWaiting(waiting.size)
  }

  return {
    forget,
    async end(key, policy) {
      const noted = await orUnavailable(findResource(pool, { clusterId, kind: 'ApiKey', ...nameOfKey(key) }))
      const sinceMs = goneSinceMs.get(key) ?? performance.now()
      const leftMs = sinceMs + heirMs - performance.now()
      if (noted !== undefined && policy === 'Orphan' && leftMs > 0) {
        goneSinceMs.set(key, sinceMs)
        return { afterMs: leftMs }
      }
      const end = noted && (await endAndConfirm(options, noted, policy))
      if (end === 'revoking') return { afterMs: unconfirmedPollMs }
      if (noted !== undefined && end !== undefined && end !== 'waiting') tell(noted, end)
      if (end === 'blocked' || end === 'waiting') onWaiting(waiting.add(key).size)
      else forget(key)
      return 'ended'
    },
  }
}

/**
 * The state of a key. `waiting`: blocked before; `revoking`: gateways may still accept it; `undefined`:
 * nothing.
 */
type End = VanishedEnd | 'waiting' | 'revoking' | undefined

/** Ends a key, and gives the gateways the moment that they usually need to reject it. */
async function endAndConfirm(
  options: VanishedKeysOptions,
  noted: ClusterResource,
  policy: DeletionPolicy | undefined,
): Promise<End> {
  const attempt = () =>
    writeFenced(options, noted, (client) => endNoted(client, noted, policy, options.revocationWaitMs))
  const end = await attempt()
  if (end !== 'revoking') return end
  const key = await options.untilProjected(noted.subject)
  return key?.isProjected ? attempt() : 'revoking'
}

async function endNoted(
  client: ScopedClient,
  noted: ClusterResource,
  policy: DeletionPolicy | undefined,
  revocationWaitMs: number,
): Promise<End> {
  const keyId = noted.subject
  const key = await readKeyState(client, keyId)
  const isLive = key?.revoked === false
  if (isLive && policy === undefined) {
    if (key.blockedBy.includes('kubernetes')) return 'waiting'
    await blockKey(client, keyId, 'kubernetes')
    return 'blocked'
  }
  if (isLive && policy === 'Revoke') {
    await revokeKey(client, keyId)
    return 'revoking'
  }
  if (isLive && policy === 'Orphan') {
    await setManagedBy(client, keyId, 'cabinet')
    await noteOrphan(client, noted)
    return 'handedOver'
  }
  const isRevoked = policy === 'Revoke' && key !== undefined
  const isUnconfirmed = isRevoked && mayBeAccepted(key)
  if (isUnconfirmed && Date.now() - Number(key.revokedAt) < revocationWaitMs) return 'revoking'
  await removeResource(client, noted)
  if (isRevoked) return isUnconfirmed ? 'unconfirmed' : 'revoked'
  return undefined
}
