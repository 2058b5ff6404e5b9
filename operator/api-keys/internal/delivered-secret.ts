import { findKey, type KeyHash, type KeySecret } from '#cabinet/keys/key'
import type { Shard } from '#cabinet/redis/shard'
import { apiVersion } from '#crds/resource'
import type { ObjectChange } from '../../runtime/cluster-client.ts'
import type { ClusterObject, OwnerReference } from '../../runtime/cluster-object.ts'

/** Marks the Secrets of the operator. The admission policy lets it write no others. */
const managedByLabel = 'app.kubernetes.io/managed-by'
const operatorName = 'model-gateway-operator'
/** Whose text a Secret holds: the key's id. */
const keyIdAnnotation = 'modelgateway.dev/key-id'
/** `spec.rotation.trigger` for which its text was made. */
const triggerAnnotation = 'modelgateway.dev/rotation-trigger'

/** What an ApiKey wants of its Secret. */
export type SecretWish = {
  readonly namespace: string
  readonly name: string
  /** The ApiKey. */
  readonly owner: { readonly name: string; readonly uid: string }
  /** The key's id, as far as one is known. */
  readonly keyId: string | undefined
  /** All texts that open the key, or once did. */
  readonly knownHashes: ReadonlySet<KeyHash>
  /** Names of the two entries; the second is empty where no address is wanted. */
  readonly entry: string
  readonly baseUrlEntry: string
  readonly baseUrl: string
}

/** A Secret as an ApiKey sees it; no text is in here. */
export type SecretView =
  | { readonly state: 'absent' }
  /** Someone else's: never written to. */
  | { readonly state: 'foreign'; readonly message: string }
  | {
      readonly state: 'ours'
      /** At the wanted entry. `foreign`: it does not look like an API key. */
      readonly value: KeyHash | 'absent' | 'foreign'
      /** Shard of that text. */
      readonly shard: Shard | undefined
      /** Id of the key that its text belongs to, according to its annotation. */
      readonly keyId: string | undefined
      /** Texts of this key at other entries. */
      readonly elsewhere: readonly KeyHash[]
      /** The trigger for which its text was made. */
      readonly rotationTrigger: string | null
      /** It is deleted together with this ApiKey. */
      readonly isOwned: boolean
      /** Everything but its text is as wanted. */
      readonly isTidy: boolean
    }

type HashText = (text: KeySecret) => KeyHash

/**
 * Whose a Secret is, and what it holds. Pure.
 *
 * It is ours if this ApiKey controls it, or a deleted one of the same name: the cluster would garbage-collect it. One
 * without a controller is ours if it carries our label and the id of our key: its ApiKey was deleted and left it behind.
 */
export function viewSecret(
  secret: ClusterObject | undefined,
  wish: SecretWish,
  hashText: HashText,
): SecretView {
  if (secret === undefined) return { state: 'absent' }
  const { labels = {}, annotations = {} } = secret.metadata
  const controller = controllerOf(secret)
  const isOwned = controller?.uid === wish.owner.uid
  const isOurWriting = labels[managedByLabel] === operatorName
  const isOfKey = wish.keyId !== undefined && annotations[keyIdAnnotation] === wish.keyId
  const isLeftBehind = controller === undefined ? isOfKey : isEarlier(controller, wish)
  if (!isOwned && !(isOurWriting && isLeftBehind))
    return { state: 'foreign', message: foreignMessage(secret.metadata.name, controller) }
  const texts = textsOf(secret, hashText)
  const value = texts.find(({ entry }) => entry === wish.entry)
  const others = texts.filter(({ entry }) => entry !== wish.entry)
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
      leftovers(secret, wish, hashText).length === 0,
  }
}

/** The text with this hash that a Secret holds at any of its entries. */
export function findHeldText(
  secret: ClusterObject | undefined,
  hash: KeyHash,
  hashText: HashText,
): KeySecret | undefined {
  return secret && textsOf(secret, hashText).find((held) => held.hash === hash)?.text
}

/** What a Secret is to hold. Without `rotationTrigger` it stays as it is. */
export type SecretContent = { readonly text: KeySecret; readonly rotationTrigger?: string | null }

/** The Secret to create where there is none. Pure. */
export function newSecret(wish: SecretWish, { text, rotationTrigger = null }: SecretContent): ClusterObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: wish.name,
      namespace: wish.namespace,
      labels: { [managedByLabel]: operatorName },
      annotations: {
        ...(wish.keyId === undefined ? {} : { [keyIdAnnotation]: wish.keyId }),
        ...(rotationTrigger === null ? {} : { [triggerAnnotation]: rotationTrigger }),
      },
      ownerReferences: [ownerReference(wish)],
    },
    type: 'Opaque',
    data: dataOf(wish, text),
  }
}

/**
 * The merge patch that makes a Secret of ours hold a text. Entries of others stay; entries that we wrote under other
 * names are removed. Pure.
 */
export function secretChange(
  secret: ClusterObject,
  wish: SecretWish,
  { text, rotationTrigger }: SecretContent,
  hashText: HashText,
): ObjectChange {
  const others = (secret.metadata.ownerReferences ?? []).filter(({ controller }) => controller !== true)
  return {
    metadata: {
      labels: { [managedByLabel]: operatorName },
      annotations: {
        [keyIdAnnotation]: wish.keyId ?? null,
        ...(rotationTrigger === undefined ? {} : { [triggerAnnotation]: rotationTrigger }),
      },
      ownerReferences: [...others, ownerReference(wish)],
    },
    data: {
      ...Object.fromEntries(leftovers(secret, wish, hashText).map((entry) => [entry, null])),
      ...dataOf(wish, text),
    },
  }
}

/** The merge patch after which a Secret outlives its ApiKey. Pure. */
export function secretRelease(secret: ClusterObject, ownerUid: string): ObjectChange {
  const others = (secret.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid)
  return { metadata: { ownerReferences: others } }
}

function textsOf(secret: ClusterObject, hashText: HashText) {
  return Object.entries(secret.data ?? {}).flatMap(([entry, encoded]) => {
    const found = findKey(decode(encoded))
    return found === undefined
      ? []
      : [{ entry, text: found.key, shard: found.shard, hash: hashText(found.key) }]
  })
}

function hasBaseUrl(secret: ClusterObject, { baseUrlEntry, baseUrl }: SecretWish): boolean {
  if (baseUrlEntry === '') return true
  const data = secret.data ?? {}
  const encoded = Object.hasOwn(data, baseUrlEntry) ? data[baseUrlEntry] : undefined
  return encoded !== undefined && decode(encoded) === baseUrl
}

/** Entries that we wrote under names that were wanted before. */
function leftovers(secret: ClusterObject, wish: SecretWish, hashText: HashText): string[] {
  const own = new Set(
    textsOf(secret, hashText)
      .filter(({ hash }) => wish.knownHashes.has(hash))
      .map(({ entry }) => entry),
  )
  return Object.entries(secret.data ?? {})
    .filter(([entry, encoded]) => own.has(entry) || decode(encoded) === wish.baseUrl)
    .map(([entry]) => entry)
    .filter((entry) => entry !== wish.entry && entry !== wish.baseUrlEntry)
}

function dataOf({ entry, baseUrlEntry, baseUrl }: SecretWish, text: KeySecret): Record<string, string> {
  return { ...(baseUrlEntry === '' ? {} : { [baseUrlEntry]: encode(baseUrl) }), [entry]: encode(text) }
}

function controllerOf({ metadata }: ClusterObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

/** Names are unique in a namespace, so an ApiKey of this name with another uid is gone. */
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

function foreignMessage(name: string, controller: OwnerReference | undefined): string {
  const whose =
    controller === undefined
      ? 'already exists and was not created for this ApiKey'
      : `belongs to ${controller.kind} "${controller.name}"`
  return `Secret "${name}" ${whose}: delete it, or create a new ApiKey with another spec.secret.name`
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}

function decode(encoded: string): string {
  return Buffer.from(encoded, 'base64').toString('utf8')
}
