import { createHash } from 'node:crypto'
import type { ClusterResource, ResourceRef } from '#core/clusters/cluster-resources'
import type { KeyDifference } from '#core/keys/drafted-key'
import { type Blocker, hashKey, type KeyHash, type KeySecret, visiblePartsOf, writeKey } from '#core/keys/key'
import type { KeyDraft } from '#core/keys/key-resource'
import type { KeyState, SecretState } from '#core/keys/key-state'
import type { Shard } from '#core/redis/shard'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import {
  findHeldSecret,
  leftBehindKeyId,
  newSecret,
  type SecretWish,
  secretChange,
  secretRelease,
  viewSecret,
} from './delivered-secret.ts'
import { isAdoptable } from './find-orphan.ts'
import type { GatheredKey } from './gathered-key.ts'
import { mergePatched } from './merge-patch.fixture.ts'
import { type KeyStep, planKey } from './plan-key.ts'

/** A world of one ApiKey, for proofs: everything a step of the plan reads or writes, in memory, with our own hands. */
export type World = {
  nowMs: number
  object: ModelObject | undefined
  allowedOrganization: string | undefined
  namespaceIsTerminating: boolean
  /** Why the quota of the namespace refuses the ApiKey. */
  overQuota: string | undefined
  resource: ClusterResource | undefined
  readonly keys: Map<string, ModelKey>
  /** When the keys that an ApiKey left behind were rotated. */
  readonly orphans: Map<string, Date | null>
  secret: ClusterObject | undefined
  /** The key's secret that the process holds; it is lost with the process. */
  minted: { keyId: string; keySecret: KeySecret } | undefined
  /** The memory of its process about repairs. */
  nextRepairAtMs: number
  /** A write that is still on its way though its process is dead. */
  late: (() => void) | undefined
  count: number
}

/** The ApiKey. */
export type ModelObject = {
  readonly uid: string
  generation: number
  isTerminating: boolean
  hasFinalizer: boolean
  draft: KeyDraft
  statusKeyId: string | undefined
}

/** A secret of a key. */
export type ModelSecret = {
  readonly hash: KeyHash
  readonly keySecret: KeySecret
  validUntilMs: number | null
  ended: boolean
  delivered: boolean
}

type ModelKey = {
  readonly keyId: string
  readonly organization: string
  managedBy: 'cabinet' | 'kubernetes'
  limits: KeyDraft['limits']
  tags: readonly string[]
  blockedBy: Set<Blocker>
  revoked: boolean
  revokedAtMs: number | undefined
  isProjected: boolean
  readonly createdAtMs: number
  everProjected: boolean
  /** Newest first. */
  secrets: ModelSecret[]
}

const pepper = 'pepper'
const shard = 7 as Shard
const ref: ResourceRef = { clusterId: 'cluster', kind: 'ApiKey', namespace: 'team-a', name: 'ci' }
const hashSecret = (keySecret: KeySecret) => hashKey(keySecret, pepper)

/** A world with a namespace of acme, and nothing in it. */
export function createWorld(): World {
  return {
    nowMs: Date.UTC(2026, 10, 21),
    object: undefined,
    allowedOrganization: 'acme',
    namespaceIsTerminating: false,
    overQuota: undefined,
    resource: undefined,
    keys: new Map(),
    orphans: new Map(),
    secret: undefined,
    minted: undefined,
    nextRepairAtMs: 0,
    late: undefined,
    count: 0,
  }
}

/** A user applies an ApiKey. */
export function createObject(world: World, fields: Partial<KeyDraft> = {}): void {
  world.object = {
    uid: `uid-${++world.count}`,
    generation: 1,
    isTerminating: false,
    hasFinalizer: false,
    draft: { ...draft, ...fields },
    statusKeyId: undefined,
  }
}

const draft: KeyDraft = {
  name: 'ci',
  organization: 'acme',
  limits: {},
  tags: [],
  suspended: false,
  rotationTrigger: null,
  rotationIntervalS: null,
  rotationGraceS: 3600,
  adoption: 'Allow',
  deletionPolicy: 'Revoke',
}

/** A secret that no test has created before. */
export function freshSecret(world: World): KeySecret {
  return writeKey(
    shard,
    createHash('sha256')
      .update(`text ${++world.count}`)
      .digest(),
    pepper,
  )
}

/** Whether a secret opens its key now. */
export function isLive(world: World, secret: ModelSecret): boolean {
  return !secret.ended && (secret.validUntilMs === null || secret.validUntilMs > world.nowMs)
}

/** The value of the Secret's entry. */
export function secretValue({ secret }: World): string | undefined {
  const encoded = secret?.data?.OPENAI_API_KEY
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString()
}

/** The key and secret that a value opens, whatever their state. */
export function findOpened(world: World, value: string | undefined) {
  for (const key of world.keys.values()) {
    const secret = key.secrets.find(({ keySecret }) => keySecret === value)
    if (secret !== undefined) return { key, secret }
  }
  return undefined
}

/** As `gatherKey`. */
export function gather(world: World, object: ModelObject, patience: 'some' | 'none'): GatheredKey {
  const key = world.resource && stateOf(world, world.resource.subject)
  const wish = wishOf(world, object)
  return {
    object: {
      ref,
      uid: object.uid,
      generation: object.generation,
      isTerminating: object.isTerminating,
      deletedAtMs: object.isTerminating ? 0 : undefined,
      hasFinalizer: object.hasFinalizer,
      deleting: undefined,
      deletionPolicy: object.draft.deletionPolicy,
      isGlassBroken: false,
    },
    draft: object.draft,
    excesses: [],
    overQuota: world.overQuota,
    namespace: { organization: world.allowedOrganization, isTerminating: world.namespaceIsTerminating },
    organization: { id: object.draft.organization, name: object.draft.organization, shard },
    resource: world.resource,
    key,
    lostKeyId: key === undefined ? lostKeyId(world, object) : undefined,
    orphan: findOrphan(world, object),
    secret: viewSecret(world.secret, wish, pepper),
    minted: world.minted && hashSecret(world.minted.keySecret),
    conflict: undefined,
    refusal: undefined,
    patience,
    revocationWaitMs: 600_000,
    nextRepairAtMs: world.nextRepairAtMs,
    nowMs: world.nowMs,
  }
}

/** One pass: steps until none is due, or until the process dies after `stepsMax` of them. Answers what it did. */
export function pass(
  world: World,
  options: {
    readonly stepsMax?: number
    readonly projects?: 'at once' | 'never'
    readonly onStep?: (step: KeyStep) => void
  } = {},
): KeyStep[] {
  const { stepsMax = 20, projects = 'at once', onStep } = options
  const steps: KeyStep[] = []
  let patience: 'some' | 'none' = 'some'
  while (world.object !== undefined && steps.length < stepsMax) {
    const gathered = gather(world, world.object, patience)
    const step = planKey(gathered)
    if (step === undefined) {
      world.object.statusKeyId = gathered.key?.keyId ?? world.object.statusKeyId
      break
    }
    if (step.do === 'awaitProjection') {
      if (projects === 'at once') project(world)
      else patience = 'none'
    } else apply(world, world.object, step)
    steps.push(step)
    onStep?.(step)
  }
  return steps
}

/** The process dies and loses its memory. */
export function crash(world: World): void {
  world.minted = undefined
}

/** The data plane catches up. */
export function project(world: World): void {
  for (const key of world.keys.values()) Object.assign(key, { isProjected: true, everProjected: true })
}

function apply(world: World, object: ModelObject, step: KeyStep): void {
  const key = world.resource && world.keys.get(world.resource.subject)
  switch (step.do) {
    case 'addFinalizer':
      object.hasFinalizer = true
      return
    case 'adoptKey': {
      const orphan = world.keys.get(step.keyId)
      if (orphan === undefined) throw new Error('there is no such key')
      const view = viewSecret(world.secret, wishOf(world, object), pepper)
      world.orphans.delete(orphan.keyId)
      orphan.managedBy = 'kubernetes'
      bring(orphan, step)
      note(world, object, orphan.keyId, view.state === 'ours' ? view.rotationTrigger : null, step.rotatedAt)
      return
    }
    case 'makeKey': {
      const former = step.handOver === undefined ? undefined : world.keys.get(step.handOver)
      if (former !== undefined) former.managedBy = 'cabinet'
      const made = insertKey(world, newId(world), step.draft)
      note(world, object, made.keyId, null)
      mint(world, made)
      return
    }
    case 'restoreKey': {
      const keySecret = findHeldSecret(world.secret, step.hash, pepper)
      if (keySecret === undefined) throw new Error('the Secret has no such secret')
      const made = insertKey(world, step.keyId, step.draft)
      made.secrets.unshift({ hash: step.hash, keySecret, validUntilMs: null, ended: false, delivered: true })
      const view = viewSecret(world.secret, wishOf(world, object), pepper)
      note(world, object, made.keyId, view.state === 'ours' ? view.rotationTrigger : null)
      return
    }
    case 'finishDelivery':
      if (key !== undefined) finishDelivery(world, key, step.hash, step.graceS)
      world.minted = undefined
      note(world, object, world.resource?.subject ?? '', step.rotationTrigger, new Date(world.nowMs))
      return
    case 'writeSecret':
      world.secret = writtenSecret(world, object, step)
      return
    case 'releaseSecret':
      if (world.secret !== undefined)
        world.secret = mergePatched(world.secret, secretRelease(world.secret, object.uid))
      return
    case 'forgetKey':
      world.resource = undefined
      return
    case 'dropFinalizer':
      object.hasFinalizer = false
      world.object = undefined
      return
    default:
      if (key !== undefined) applyToKey(world, object, key, step)
  }
}

function applyToKey(world: World, object: ModelObject, key: ModelKey, step: KeyStep): void {
  switch (step.do) {
    case 'updateKey':
      bring(key, step)
      note(world, object, key.keyId, step.rotationTrigger, world.resource?.rotatedAt)
      return
    case 'mint':
      mint(world, key)
      return
    case 'revokeKey':
      key.revoked = true
      key.revokedAtMs = world.nowMs
      key.isProjected = false
      for (const secret of key.secrets) secret.ended = true
      return
    case 'offboardKey':
      key.revoked = true
      key.revokedAtMs = world.nowMs
      key.isProjected = false
      for (const secret of key.secrets) secret.ended = true
      world.resource = undefined
      return
    case 'handOver':
      key.managedBy = 'cabinet'
      world.orphans.set(key.keyId, world.resource?.rotatedAt ?? null)
      world.resource = undefined
      return
    default:
      throw new Error(`no such step here: ${step.do}`)
  }
}

/** The Secret as a write would leave it, which may arrive late. */
export function writtenSecret(
  world: World,
  object: ModelObject,
  step: Extract<KeyStep, { do: 'writeSecret' }>,
): ClusterObject {
  const wish = wishOf(world, object)
  const keySecret =
    step.source === 'minted' ? world.minted?.keySecret : findHeldSecret(world.secret, step.hash, pepper)
  if (keySecret === undefined || hashSecret(keySecret) !== step.hash)
    throw new Error('the secret is not at hand')
  const content =
    step.source === 'minted' ? { keySecret, rotationTrigger: object.draft.rotationTrigger } : { keySecret }
  if (world.secret === undefined) return newSecret(wish, content)
  return mergePatched(world.secret, secretChange(world.secret, wish, content, pepper))
}

function insertKey(
  world: World,
  keyId: string,
  { organization, limits, tags, suspended }: KeyDraft,
): ModelKey {
  if (world.keys.has(keyId)) throw new Error(`key ${keyId} is there already`)
  const key: ModelKey = {
    keyId,
    organization,
    managedBy: 'kubernetes',
    limits,
    tags: tags.toSorted(),
    blockedBy: new Set(suspended ? (['kubernetes'] as const) : []),
    revoked: false,
    revokedAtMs: undefined,
    isProjected: false,
    createdAtMs: world.nowMs,
    everProjected: false,
    secrets: [],
  }
  world.keys.set(keyId, key)
  return key
}

/** As `mintUndelivered`: other secrets that were never delivered end at once. */
function mint(world: World, key: ModelKey): void {
  for (const secret of key.secrets) if (!secret.delivered) secret.ended = true
  const keySecret = freshSecret(world)
  key.secrets.unshift({
    hash: hashSecret(keySecret),
    keySecret,
    validUntilMs: null,
    ended: false,
    delivered: false,
  })
  key.isProjected = false
  world.minted = { keyId: key.keyId, keySecret }
}

/** As `finishDelivery`. */
function finishDelivery(world: World, key: ModelKey, hash: KeyHash, graceS: number): void {
  for (const secret of key.secrets) {
    if (secret.hash === hash) secret.delivered = true
    else if (!secret.ended) {
      const end = world.nowMs + graceS * 1000
      secret.validUntilMs = Math.min(secret.validUntilMs ?? end, end)
      if (graceS === 0) secret.ended = true
      key.isProjected = false
    }
  }
}

function note(
  world: World,
  object: ModelObject,
  subject: string,
  rotationTrigger: string | null,
  rotatedAt: Date | null = null,
): void {
  world.resource = {
    ...ref,
    uid: object.uid,
    generation: object.generation,
    subject,
    revision: null,
    rotationTrigger,
    rotatedAt,
  }
}

/** As `bringKey`. */
function bring(
  key: ModelKey,
  { tags, limits, block }: Pick<KeyDifference, 'tags' | 'limits' | 'block'>,
): void {
  if (tags !== undefined) key.tags = tags
  if (limits !== undefined) key.limits = limits
  if (block === 'on') key.blockedBy.add('kubernetes')
  if (block === 'off') key.blockedBy.delete('kubernetes')
  if ([tags, limits, block].some((change) => change !== undefined)) key.isProjected = false
}

/** As `findOrphan`. */
function findOrphan(world: World, { draft, statusKeyId }: ModelObject): GatheredKey['orphan'] {
  const keyId = leftBehindKeyId(world.secret)
  const rotatedAt = keyId === undefined ? undefined : world.orphans.get(keyId)
  const key = keyId === undefined ? undefined : stateOf(world, keyId)
  const isNew = world.resource === undefined && statusKeyId === undefined
  if (!isNew || key === undefined || rotatedAt === undefined || draft.adoption === 'Never') return undefined
  const organization = { id: draft.organization, name: draft.organization, shard }
  return isAdoptable(key, { organization, secret: world.secret, keyPepper: pepper })
    ? { key, rotatedAt }
    : undefined
}

function wishOf(world: World, object: ModelObject): SecretWish {
  const keyId = world.resource?.subject ?? object.statusKeyId ?? findOrphan(world, object)?.key.keyId
  const known = keyId === undefined ? undefined : world.keys.get(keyId)
  return {
    namespace: ref.namespace,
    name: 'ci-apikey',
    owner: { name: ref.name, uid: object.uid },
    keyId,
    knownHashes: new Set(known?.secrets.map(({ hash }) => hash)),
    entry: 'OPENAI_API_KEY',
    baseUrlEntry: 'OPENAI_BASE_URL',
    baseUrl: 'http://gateway/v1',
    template: { labels: {}, annotations: {} },
  }
}

function lostKeyId(world: World, object: ModelObject): string | undefined {
  const keyId = world.resource?.subject ?? object.statusKeyId
  return keyId === undefined || world.keys.has(keyId) ? undefined : keyId
}

function stateOf(world: World, keyId: string): KeyState | undefined {
  const key = world.keys.get(keyId)
  if (key === undefined) return undefined
  const {
    rpm = null,
    tpm = null,
    dailyBudgetNano = null,
    allowedModels = null,
    allowedIps = null,
  } = key.limits
  const { weeklyBudgetNano = null, monthlyBudgetNano = null, totalBudgetNano = null } = key.limits
  const { expiresAt = null, readBalance = false, keepsResponsesHours = null } = key.limits
  return {
    keyId,
    organizationId: key.organization,
    organization: key.organization,
    name: 'ci',
    tags: key.tags,
    managedBy: key.managedBy,
    purpose: 'general',
    limits: {
      rpm,
      tpm,
      dailyBudgetNano,
      weeklyBudgetNano,
      monthlyBudgetNano,
      totalBudgetNano,
      allowedModels,
      allowedIps,
      expiresAt,
      readBalance,
      keepsResponsesHours,
    },
    blockedBy: [...key.blockedBy],
    revoked: key.revoked,
    createdAt: new Date(key.createdAtMs),
    revokedAt: key.revoked ? new Date(key.revokedAtMs ?? 0) : null,
    version: 1n,
    isProjected: key.isProjected,
    everProjected: key.everProjected,
    secrets: key.secrets.map((secret) => secretStateOf(world, secret)),
  }
}

function secretStateOf(world: World, secret: ModelSecret): SecretState {
  const { hash, keySecret, validUntilMs, delivered } = secret
  return {
    hash,
    ...visiblePartsOf(keySecret),
    validUntil: validUntilMs === null ? null : new Date(validUntilMs),
    state: isLive(world, secret) ? 'live' : 'ended',
    delivered,
  }
}

function newId(world: World): string {
  return `key-${++world.count}`
}
