import type { KeyDraft } from '#core/keys/key-resource'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import { keysMayAnnotation } from '#crds/resource'
import { higher, type KeyCeiling, lower } from './internal/key-ceiling.ts'
import { sharedModels } from './internal/shared-models.ts'
import type { KeyPermissions } from './key-permissions.ts'

/** Where an ApiKey comes among those of its namespace, by age. */
export type Standing = {
  /** ApiKeys that come before it. */
  readonly before: number
  /** All ApiKeys of its namespace. */
  readonly count: number
  /** What those before it leave of the daily budget of all; `null`: there is none. */
  readonly budgetLeftNano: NanoRub | null
}

/** What the administrators of a cluster allow one ApiKey. */
export type KeyBounds = {
  readonly ceiling: KeyCeiling | { readonly fault: string }
  readonly permissions: KeyPermissions
  readonly standing: Standing
}

/** Labels and annotations of a Secret. */
type Template = {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** An ApiKey within its bounds. */
export type BoundKey = {
  readonly draft: KeyDraft
  readonly template: Template
  /** The fields that ask for more than is allowed, each with what applies instead. */
  readonly excesses: readonly string[]
  /** Why it cannot have a key at all. */
  readonly overQuota: string | undefined
}

/** Lowers what an ApiKey asks for to what its bounds allow. Pure. */
export function boundKey(draft: KeyDraft, template: Template, bounds: KeyBounds): BoundKey {
  const { ceiling, permissions, standing } = bounds
  const excesses: string[] = []
  const { readBalance = false, deletionPolicy } = { ...draft.limits, ...draft }
  if (readBalance && !permissions.readBalance) excesses.push('readBalance: false')
  if (deletionPolicy === 'Orphan' && !permissions.orphan) excesses.push('deletionPolicy: Revoke')
  const permitted: KeyDraft = {
    ...draft,
    limits: { ...draft.limits, readBalance: readBalance && permissions.readBalance },
    deletionPolicy: permissions.orphan ? deletionPolicy : 'Revoke',
  }
  const written = withoutReserved(template, permissions, excesses)
  if ('fault' in ceiling) return { draft: permitted, template: written, excesses, overQuota: ceiling.fault }
  return {
    draft: capRotation(capLimits(permitted, ceiling, standing, excesses), ceiling, excesses),
    template: written,
    excesses,
    overQuota: findRefusal(permitted, ceiling, standing),
  }
}

/** Explains to users which of their fields apply only in part. Pure. */
export function excessText(namespace: string, excesses: readonly string[]): string {
  return `Namespace ${namespace} allows less than spec asks for. What applies is ${excesses.join('; ')}. Change these fields, or ask a cluster admin for a higher ApiKeyQuota or an entry in the annotation ${keysMayAnnotation} of the namespace`
}

function capLimits(
  draft: KeyDraft,
  { rpm, tpm, dailyBudgetNano, allowedModels }: KeyCeiling,
  { budgetLeftNano }: Standing,
  excesses: string[],
): KeyDraft {
  const { limits } = draft
  const budgetMax = lower<bigint>(dailyBudgetNano, budgetLeftNano)
  const capped = {
    rpm: lower(limits.rpm ?? null, rpm),
    tpm: lower(limits.tpm ?? null, tpm),
    dailyBudgetNano: lower<bigint>(limits.dailyBudgetNano ?? null, budgetMax),
    allowedModels:
      limits.allowedModels && allowedModels
        ? sharedModels(limits.allowedModels, allowedModels)
        : (limits.allowedModels ?? allowedModels),
  }
  note('limits.requestsPerMinute', limits.rpm, capped.rpm)
  note('limits.tokensPerMinute', limits.tpm, capped.tpm)
  note('limits.dailyBudgetRub', limits.dailyBudgetNano, capped.dailyBudgetNano)
  if (limits.allowedModels && limits.allowedModels.length > (capped.allowedModels?.length ?? 0))
    excesses.push(`allowedModels: ${JSON.stringify(capped.allowedModels)}`)
  return {
    ...draft,
    limits: {
      ...limits,
      ...capped,
      dailyBudgetNano: capped.dailyBudgetNano === null ? null : nanoRub(capped.dailyBudgetNano),
    },
  }

  function note(field: string, asked: number | bigint | null | undefined, given: number | bigint | null) {
    if (asked === null || asked === undefined || asked === given || given === null) return
    excesses.push(`${field}: ${typeof given === 'bigint' ? `"${formatRub(nanoRub(given))}"` : given}`)
  }
}

function capRotation(
  draft: KeyDraft,
  { rotationIntervalS: shortestS, rotationGraceS: longestS }: KeyCeiling,
  excesses: string[],
): KeyDraft {
  const { rotationTrigger, rotationIntervalS: askedS } = draft
  const rotationIntervalS = askedS === null ? null : higher(askedS, shortestS)
  const rotationGraceS = lower(draft.rotationGraceS, longestS) ?? draft.rotationGraceS
  const isAsked = rotationTrigger !== null || askedS !== null
  if (rotationIntervalS !== askedS) excesses.push(`rotation.interval: ${rotationIntervalS}s`)
  if (isAsked && rotationGraceS !== draft.rotationGraceS)
    excesses.push(`rotation.gracePeriod: ${rotationGraceS}s`)
  return { ...draft, rotationIntervalS, rotationGraceS }
}

function withoutReserved(template: Template, permissions: KeyPermissions, excesses: string[]): Template {
  const reserved = Object.keys({ ...template.labels, ...template.annotations }).filter(
    (name) => !permissions.mayWrite(name),
  )
  if (reserved.length === 0) return template
  excesses.push(`secret.template without ${reserved.join(', ')}`)
  const kept = (entries: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(entries).filter(([name]) => permissions.mayWrite(name)))
  return { labels: kept(template.labels), annotations: kept(template.annotations) }
}

function findRefusal(
  { limits }: KeyDraft,
  { apiKeys, totalBudgetNano, dailyBudgetNano, allowedModels }: KeyCeiling,
  { before, count, budgetLeftNano }: Standing,
): string | undefined {
  if (before >= apiKeys)
    return `The namespace has ${count} ApiKeys and may have ${apiKeys}: delete older ones, or ask a cluster admin to raise spec.apiKeys of its ApiKeyQuota`
  if (totalBudgetNano !== null && (limits.dailyBudgetNano ?? dailyBudgetNano) === null)
    return 'spec.limits.dailyBudgetRub must be set: the ApiKeyQuota of the namespace has spec.totalDailyBudgetRub'
  if (totalBudgetNano !== null && budgetLeftNano !== null && budgetLeftNano <= 0n)
    return `Older ApiKeys have all of the daily budget of the namespace, ${formatRub(totalBudgetNano)} ₽: lower spec.limits.dailyBudgetRub of some, or ask a cluster admin to raise spec.totalDailyBudgetRub of its ApiKeyQuota`
  if (
    limits.allowedModels &&
    limits.allowedModels.length > 0 &&
    allowedModels &&
    sharedModels(limits.allowedModels, allowedModels).length === 0
  )
    return `The ApiKeyQuota of the namespace allows none of spec.allowedModels; it allows ${allowedModels.join(', ')}`
  return undefined
}
