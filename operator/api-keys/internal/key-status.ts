import { z } from 'zod'
import { currentSecret } from '#core/keys/key-delivery'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { timeText } from '../../runtime/cluster-object.ts'
import { type Condition, conditionsOf, mergeConditions } from '../../runtime/conditions.ts'
import { statusWithNews } from '../../status/status-with-news.ts'
import { no, type Verdict, yes } from '../../status/verdict.ts'
import type { GatheredKey } from './gathered-key.ts'
import { isDraft, type KeyVerdicts, verdictsOf } from './key-verdicts.ts'
import { nextRotationMs } from './next-rotation.ts'

/** `status` of an ApiKey. Never a secret, nothing that changes with use. */
export type KeyStatus = {
  readonly observedGeneration: number
  readonly keyID?: string
  /** The first and last characters of the newest secret, as the cabinet shows it. */
  readonly keyPrefix?: string
  readonly managedBy?: 'cabinet' | 'kubernetes'
  readonly secretRef?: { readonly name: string; readonly key: string }
  readonly rotation?: {
    readonly observedTrigger?: string
    readonly lastRotated?: string
    readonly nextRotation?: string
    readonly previousKeyExpiresAt?: string
  }
  readonly conditions: readonly Condition[]
}

/** The status of an ApiKey. Pure. */
export function keyStatus(
  gathered: GatheredKey,
  secret: { readonly name: string; readonly entry: string },
  object: ClusterObject,
): KeyStatus {
  const { key, object: read, nowMs } = gathered
  const keySecret = currentSecret(key?.secrets ?? [])
  // A key that the database has lost is still named: this is how it can be restored from its Secret.
  const keyID = key?.keyId ?? findStatusKeyId(object)
  const rotation = rotationOf(gathered)
  return {
    observedGeneration: read.generation,
    ...(keyID === undefined ? {} : { keyID }),
    ...(keySecret === undefined ? {} : { keyPrefix: `${keySecret.prefix}…${keySecret.suffix}` }),
    ...(key === undefined ? {} : { managedBy: key.managedBy }),
    ...(keySecret === undefined ? {} : { secretRef: { name: secret.name, key: secret.entry } }),
    ...(Object.keys(rotation).length === 0 ? {} : { rotation }),
    conditions: merged(object, verdictsOf(gathered), { generation: read.generation, nowMs }),
  }
}

/**
 * The status of an ApiKey while the database is unavailable: every earlier condition stays, and what is new
 * is Unknown. Only a long outage is mentioned, a written Secret that has disappeared, and that the ApiKey is being deleted.
 * Pure.
 */
export function statusWithoutDatabase(
  object: ClusterObject,
  { isTerminating, deleting = endBlocked }: Pick<GatheredKey['object'], 'isTerminating' | 'deleting'>,
  { outage, secret, nowMs }: { outage: 'short' | 'long'; secret: ClusterObject | undefined; nowMs: number },
): object {
  const isLost = secret === undefined && statusSchema.safeParse(object.status).data?.secretRef !== undefined
  const news = {
    ...(isLost ? { SecretReady: secretMissing, Ready: secretMissing } : {}),
    ...(outage === 'long' ? { DatabaseReachable: databaseUnavailable } : {}),
    ...(isTerminating ? { Ready: deleting } : {}),
  }
  return statusWithNews(object, conditionTypes, news, nowMs)
}

/** The status of an ApiKey that the database rejects: every other condition stays. Pure. */
export function statusOfRefused(object: ClusterObject, refusal: Verdict, nowMs: number): object {
  const news = { Accepted: refusal, DatabaseReachable: yes('Connected'), Ready: refusal }
  return statusWithNews(object, conditionTypes, news, nowMs)
}

const conditionTypes = ['Accepted', 'SecretReady', 'Programmed', 'DatabaseReachable', 'Ready']

const databaseUnavailable = no(
  'DatabaseUnavailable',
  'The database is unavailable; the gateways continue to serve requests',
)

const endBlocked = no('Revoking', 'This ApiKey is being deleted, and waits for the database to end its key')

const secretMissing = no(
  'SecretMissing',
  'The Secret with the API key was deleted; it is replaced with a new one once the database is available',
)

const statusSchema = z.looseObject({
  keyID: z.string().optional().catch(undefined),
  secretRef: z.looseObject({}).optional().catch(undefined),
})

/** The key that the status names. */
export function findStatusKeyId({ status }: ClusterObject): string | undefined {
  return statusSchema.safeParse(status).data?.keyID
}

function rotationOf(gathered: GatheredKey) {
  const { draft, key, resource } = gathered
  const nextMs = isDraft(draft) ? nextRotationMs(gathered, draft) : undefined
  const observedTrigger = resource?.rotationTrigger ?? undefined
  const rotatedAt = resource?.rotatedAt ?? undefined
  const ends = (key?.secrets ?? [])
    .filter(({ delivered, state }) => delivered && state === 'live')
    .flatMap(({ validUntil }) => validUntil?.getTime() ?? [])
  return {
    ...(observedTrigger === undefined ? {} : { observedTrigger }),
    ...(rotatedAt === undefined ? {} : { lastRotated: timeText(rotatedAt.getTime()) }),
    ...(nextMs === undefined ? {} : { nextRotation: timeText(nextMs) }),
    ...(ends.length === 0 ? {} : { previousKeyExpiresAt: timeText(Math.max(...ends)) }),
  }
}

function merged(
  object: ClusterObject,
  verdicts: KeyVerdicts,
  at: { readonly generation: number; readonly nowMs: number },
): Condition[] {
  const wanted = Object.entries(verdicts).map(([type, verdict]) => ({ type, ...verdict }))
  return mergeConditions(conditionsOf(object), wanted, at)
}
