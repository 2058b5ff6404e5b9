import { z } from 'zod'
import { findKey, hashKey, type KeyHash, type KeySecret } from '#core/keys/key'
import { findJson } from '#core/process/json'
import type { Shard } from '#core/redis/shard'
import { apiVersion } from '#crds/resource'
import type { ObjectChange } from '../../runtime/cluster-client.ts'
import type { ClusterObject, OwnerReference } from '../../runtime/cluster-object.ts'

/** Marks the Secrets of the operator. The admission policy lets it write no others. */
const managedByLabel = 'app.kubernetes.io/managed-by'
const operatorName = 'model-gateway-operator'
/** Id of the key whose secret a Secret holds. */
const keyIdAnnotation = 'modelgateway.dev/key-id'
/** `spec.rotation.trigger` for which its secret was made. */
const triggerAnnotation = 'modelgateway.dev/rotation-trigger'
/** Names of the labels and annotations that `spec.secret.template` put there: those that it no longer has are removed. */
const templateAnnotation = 'modelgateway.dev/template'

/** Labels and annotations that users add to the Secret. */
export type SecretTemplate = {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** The Secret that an ApiKey wants. */
export type SecretWish = {
  readonly namespace: string
  readonly name: string
  /** The ApiKey. */
  readonly owner: { readonly name: string; readonly uid: string }
  /** The key's id, as far as one is known. */
  readonly keyId: string | undefined
  /** All secrets that open the key, or once did. */
  readonly knownHashes: ReadonlySet<KeyHash>
  /** Names of the two entries; the second is empty where no address is wanted. */
  readonly entry: string
  readonly baseUrlEntry: string
  readonly baseUrl: string
  readonly template: SecretTemplate
}

/** A Secret as an ApiKey sees it, without the key's secret. */
export type SecretView =
  | { readonly state: 'absent' }
  /** Someone else's: never written to. */
  | { readonly state: 'foreign'; readonly message: string }
  | {
      readonly state: 'ours'
      /** At the wanted entry. `foreign`: it is no API key of this installation. */
      readonly value: KeyHash | 'absent' | 'foreign'
      /** Shard of that key. */
      readonly shard: Shard | undefined
      /** Id of the key that its secret belongs to, according to its annotation. */
      readonly keyId: string | undefined
      /** Hashes of this key's secrets at other entries. */
      readonly elsewhere: readonly KeyHash[]
      /** The trigger for which its secret was made. */
      readonly rotationTrigger: string | null
      /** It is deleted together with this ApiKey. */
      readonly isOwned: boolean
      /** Everything but the key's secret is as wanted. */
      readonly isTidy: boolean
    }

/**
 * The owner and content of a Secret. Pure.
 *
 * The operator owns it if this ApiKey controls it, or a deleted one of the same name: the cluster would
 * garbage-collect it. Without a controller, the operator owns it if it has the operator's label and the id of
 * one of its keys: its ApiKey was deleted and left it behind.
 */
export function viewSecret(secret: ClusterObject | undefined, wish: SecretWish, pepper: string): SecretView {
  if (secret === undefined) return { state: 'absent' }
  const { labels = {}, annotations = {} } = secret.metadata
  const controller = controllerOf(secret)
  const isOwned = controller?.uid === wish.owner.uid
  const isOurWriting = labels[managedByLabel] === operatorName
  const isOfKey = wish.keyId !== undefined && annotations[keyIdAnnotation] === wish.keyId
  const isLeftBehind = controller === undefined ? isOfKey : isEarlier(controller, wish)
  if (!isOwned && !(isOurWriting && isLeftBehind))
    return { state: 'foreign', message: foreignMessage(secret.metadata.name, controller) }
  const keySecrets = keySecretsOf(secret, pepper)
  const value = keySecrets.find(({ entry }) => entry === wish.entry)
  const others = keySecrets.filter(({ entry }) => entry !== wish.entry)
  return {
    state: 'ours',
    value: value?.hash ?? (Object.hasOwn(secret.data ?? {}, wish.entry) ? 'foreign' : 'absent'),
    shard: value?.shard,
    keyId: annotations[keyIdAnnotation],
    elsewhere: others.map(({ hash }) => hash).filter((hash) => wish.knownHashes.has(hash)),
    rotationTrigger: annotations[triggerAnnotation] ?? null,
    isOwned,
    isTidy:
      isOwned &&
      isOurWriting &&
      isOfKey &&
      hasBaseUrl(secret, wish) &&
      hasTemplate(secret, wish) &&
      leftovers(secret, wish, pepper).length === 0,
  }
}

/**
 * The key in this operator-owned Secret whose ApiKey was deleted and left it behind, according to its
 * annotation. Pure.
 */
export function leftBehindKeyId(secret: ClusterObject | undefined): string | undefined {
  if (secret === undefined || controllerOf(secret) !== undefined) return undefined
  const { labels = {}, annotations = {} } = secret.metadata
  return labels[managedByLabel] === operatorName ? annotations[keyIdAnnotation] : undefined
}

/** The key's secret with this hash, if a Secret holds it at any of its entries. */
export function findHeldSecret(
  secret: ClusterObject | undefined,
  hash: KeyHash,
  pepper: string,
): KeySecret | undefined {
  return secret && keySecretsOf(secret, pepper).find((held) => held.hash === hash)?.keySecret
}

/** The desired content of a Secret. Without `rotationTrigger` that one stays as it is. */
export type SecretContent = { readonly keySecret: KeySecret; readonly rotationTrigger?: string | null }

/** The Secret to create where there is none. Pure. */
export function newSecret(
  wish: SecretWish,
  { keySecret, rotationTrigger = null }: SecretContent,
): ClusterObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: wish.name,
      namespace: wish.namespace,
      labels: { ...wish.template.labels, [managedByLabel]: operatorName },
      annotations: {
        ...wish.template.annotations,
        ...(wish.keyId === undefined ? {} : { [keyIdAnnotation]: wish.keyId }),
        ...(rotationTrigger === null ? {} : { [triggerAnnotation]: rotationTrigger }),
        ...templateNote(wish.template),
      },
      ownerReferences: [ownerReference(wish)],
    },
    type: 'Opaque',
    data: dataOf(wish, keySecret),
  }
}

/**
 * The merge patch that makes an operator-owned Secret hold a key's secret. Entries of others stay; entries
 * that the operator wrote under other names are removed. Pure.
 */
export function secretChange(
  secret: ClusterObject,
  wish: SecretWish,
  { keySecret, rotationTrigger }: SecretContent,
  pepper: string,
): ObjectChange {
  const others = (secret.metadata.ownerReferences ?? []).filter(({ controller }) => controller !== true)
  return {
    metadata: {
      labels: {
        ...asNulls(templateNames(secret).labels),
        ...wish.template.labels,
        [managedByLabel]: operatorName,
      },
      annotations: {
        ...asNulls(templateNames(secret).annotations),
        ...wish.template.annotations,
        ...(secret.metadata.annotations?.[templateAnnotation] === undefined
          ? {}
          : { [templateAnnotation]: null }),
        ...templateNote(wish.template),
        [keyIdAnnotation]: wish.keyId ?? null,
        ...(rotationTrigger === undefined ? {} : { [triggerAnnotation]: rotationTrigger }),
      },
      ownerReferences: [...others, ownerReference(wish)],
    },
    data: {
      ...Object.fromEntries(leftovers(secret, wish, pepper).map((entry) => [entry, null])),
      ...dataOf(wish, keySecret),
    },
  }
}

/** The merge patch after which a Secret outlives its ApiKey. Pure. */
export function secretRelease(secret: ClusterObject, ownerUid: string): ObjectChange {
  const others = (secret.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid)
  return { metadata: { ownerReferences: others } }
}

function keySecretsOf(secret: ClusterObject, pepper: string) {
  return Object.entries(secret.data ?? {}).flatMap(([entry, encoded]) => {
    const found = findKey(decode(encoded), pepper)
    return found === undefined
      ? []
      : [{ entry, keySecret: found.key, shard: found.shard, hash: hashKey(found.key, pepper) }]
  })
}

function hasBaseUrl(secret: ClusterObject, { baseUrlEntry, baseUrl }: SecretWish): boolean {
  if (baseUrlEntry === '') return true
  const data = secret.data ?? {}
  const encoded = Object.hasOwn(data, baseUrlEntry) ? data[baseUrlEntry] : undefined
  return encoded !== undefined && decode(encoded) === baseUrl
}

const templateNamesSchema = z.object({
  labels: z.array(z.string()).default([]),
  annotations: z.array(z.string()).default([]),
})

/** The names that the template of an ApiKey has added there so far. */
function templateNames({ metadata }: ClusterObject): z.infer<typeof templateNamesSchema> {
  const noted = findJson(metadata.annotations?.[templateAnnotation] ?? '')
  return templateNamesSchema.safeParse(noted).data ?? { labels: [], annotations: [] }
}

function templateNote({ labels, annotations }: SecretTemplate): Record<string, string> {
  const names = { labels: Object.keys(labels).toSorted(), annotations: Object.keys(annotations).toSorted() }
  if (names.labels.length + names.annotations.length === 0) return {}
  return { [templateAnnotation]: JSON.stringify(names) }
}

/** Whether a Secret has the labels and annotations of the template, and no earlier ones. */
function hasTemplate({ metadata }: ClusterObject, { template }: SecretWish): boolean {
  const { labels = {}, annotations = {} } = metadata
  const wanted = { ...template.annotations, ...templateNote(template) }
  return (
    annotations[templateAnnotation] === wanted[templateAnnotation] &&
    Object.entries(wanted).every(([name, value]) => annotations[name] === value) &&
    Object.entries(template.labels).every(
      ([name, value]) => name === managedByLabel || labels[name] === value,
    )
  )
}

function asNulls(names: readonly string[]): Record<string, null> {
  return Object.fromEntries(names.map((name) => [name, null]))
}

/** Entries that we wrote under names that were wanted before. */
function leftovers(secret: ClusterObject, wish: SecretWish, pepper: string): string[] {
  const own = new Set(
    keySecretsOf(secret, pepper)
      .filter(({ hash }) => wish.knownHashes.has(hash))
      .map(({ entry }) => entry),
  )
  return Object.entries(secret.data ?? {})
    .filter(([entry, encoded]) => own.has(entry) || decode(encoded) === wish.baseUrl)
    .map(([entry]) => entry)
    .filter((entry) => entry !== wish.entry && entry !== wish.baseUrlEntry)
}

function dataOf({ entry, baseUrlEntry, baseUrl }: SecretWish, keySecret: KeySecret): Record<string, string> {
  return { ...(baseUrlEntry === '' ? {} : { [baseUrlEntry]: encode(baseUrl) }), [entry]: encode(keySecret) }
}

function controllerOf({ metadata }: ClusterObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

/** Names are unique in a namespace, so an ApiKey of this name with another uid was deleted. */
function isEarlier(controller: OwnerReference, { owner }: SecretWish): boolean {
  return (
    controller.apiVersion === apiVersion && controller.kind === 'ApiKey' && controller.name === owner.name
  )
}

function ownerReference({ owner }: SecretWish): OwnerReference {
  return {
    apiVersion,
    kind: 'ApiKey',
    name: owner.name,
    uid: owner.uid,
    controller: true,
    blockOwnerDeletion: true,
  }
}

/** A Secret that another ApiKey is to make. */
export function claimedByApiKey(name: string, apiKey: string): SecretView {
  return { state: 'foreign', message: foreignMessage(name, { kind: 'ApiKey', name: apiKey }) }
}

/** Never advises to delete that Secret: it is in use, or its controller would create it again. */
function foreignMessage(name: string, controller: Pick<OwnerReference, 'kind' | 'name'> | undefined): string {
  const whose =
    controller === undefined
      ? 'already exists and was not created for this ApiKey'
      : `belongs to ${controller.kind} "${controller.name}"`
  return `Secret "${name}" ${whose}: create an ApiKey with another spec.secret.name in place of this one`
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}

function decode(encoded: string): string {
  return Buffer.from(encoded, 'base64').toString('utf8')
}
