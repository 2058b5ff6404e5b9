import type { z } from 'zod'
import { nanoOf, secondsOf } from '#core/keys/key-resource'
import type { NanoRub } from '#core/ledger/money'
import { apiKeyQuotaSchema, apiKeysMaxDefault } from '#crds/api-key-quota'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { sharedModels } from './shared-models.ts'

/** The most that the ApiKeys of a namespace may have. `null`: not limited. */
export type KeyCeiling = {
  readonly apiKeys: number
  readonly totalBudgetNano: NanoRub | null
  readonly rpm: number | null
  readonly tpm: number | null
  readonly dailyBudgetNano: NanoRub | null
  readonly allowedModels: readonly string[] | null
  /** Shortest. */
  readonly rotationIntervalS: number | null
  /** Longest. */
  readonly rotationGraceS: number | null
}

/** Of a namespace without an ApiKeyQuota. */
export const defaultCeiling: KeyCeiling = {
  apiKeys: apiKeysMaxDefault,
  totalBudgetNano: null,
  rpm: null,
  tpm: null,
  dailyBudgetNano: null,
  allowedModels: null,
  rotationIntervalS: null,
  rotationGraceS: null,
}

/**
 * What the ApiKeyQuotas of a namespace allow together: the strictest of each. `fault`: one of them cannot be read, as after
 * going back to an earlier release. Pure.
 */
export function ceilingOf(quotas: readonly ClusterObject[]): KeyCeiling | { readonly fault: string } {
  const ceilings: KeyCeiling[] = []
  for (const { metadata, spec } of quotas) {
    const parsed = apiKeyQuotaSchema.shape.spec.safeParse(spec)
    if (!parsed.success)
      return {
        fault: `ApiKeyQuota ${metadata.name} cannot be read: apply it again with the fields of this release`,
      }
    ceilings.push(ceilingIn(parsed.data))
  }
  const [first, ...others] = ceilings
  return first === undefined ? defaultCeiling : others.reduce(strictest, first)
}

type Spec = z.infer<typeof apiKeyQuotaSchema>['spec']

function ceilingIn({ apiKeys, totalDailyBudgetRub, perKey, allowedModels, rotation }: Spec): KeyCeiling {
  return {
    apiKeys,
    totalBudgetNano: nanoOf(totalDailyBudgetRub),
    rpm: perKey.requestsPerMinute ?? null,
    tpm: perKey.tokensPerMinute ?? null,
    dailyBudgetNano: nanoOf(perKey.dailyBudgetRub),
    allowedModels: allowedModels ?? null,
    rotationIntervalS: secondsOf(rotation.minInterval),
    rotationGraceS: secondsOf(rotation.maxGracePeriod),
  }
}

function strictest(one: KeyCeiling, other: KeyCeiling): KeyCeiling {
  return {
    apiKeys: Math.min(one.apiKeys, other.apiKeys),
    totalBudgetNano: lower(one.totalBudgetNano, other.totalBudgetNano),
    rpm: lower(one.rpm, other.rpm),
    tpm: lower(one.tpm, other.tpm),
    dailyBudgetNano: lower(one.dailyBudgetNano, other.dailyBudgetNano),
    allowedModels:
      one.allowedModels === null || other.allowedModels === null
        ? (one.allowedModels ?? other.allowedModels)
        : sharedModels(one.allowedModels, other.allowedModels),
    rotationIntervalS: higher(one.rotationIntervalS, other.rotationIntervalS),
    rotationGraceS: lower(one.rotationGraceS, other.rotationGraceS),
  }
}

/** The lower of two bounds, of which `null` is none. Pure. */
export function lower<Amount extends number | bigint>(
  one: Amount | null,
  other: Amount | null,
): Amount | null {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}

/** The higher of two bounds, of which `null` is none. Pure. */
export function higher(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other)
}
