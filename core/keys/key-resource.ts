import type { ZodSafeParseResult } from 'zod'
import { type ApiKey, apiKeySchema } from '#crds/api-key'
import { readNetworks } from '#crds/network'
import { durationMs } from '#crds/resource'
import { findRub, formatRub, type NanoRub } from '../ledger/money.ts'
import type { KeyLimits, KeyState } from './key-state.ts'

/** The key that an ApiKey describes, for the database. */
export type KeyDraft = {
  readonly name: string
  /** Who pays, by name. */
  readonly organization: string
  readonly limits: KeyLimits
  readonly tags: readonly string[]
  readonly suspended: boolean
  /** A new secret is due when it changes; `null`: none is asked for. */
  readonly rotationTrigger: string | null
  /** How long a secret is used before the next one is due; `null`: until a user requests another. */
  readonly rotationIntervalS: number | null
  readonly rotationGraceS: number
  /** Whether it takes over a key that an earlier ApiKey of its name left behind. */
  readonly adoption: 'Allow' | 'Never'
  readonly deletionPolicy: 'Revoke' | 'Orphan'
}

const defaultGraceS = 86_400

/** Translates an ApiKey for the database. Pure. */
export function draftKey({
  metadata,
  spec,
}: {
  readonly metadata: { readonly name: string }
  readonly spec: ApiKey['spec']
}): KeyDraft {
  const { limits, rotation } = spec
  return {
    name: metadata.name,
    organization: spec.organization,
    limits: {
      rpm: limits.requestsPerMinute ?? null,
      tpm: limits.tokensPerMinute ?? null,
      dailyBudgetNano: nanoOf(limits.dailyBudgetRub),
      weeklyBudgetNano: nanoOf(limits.weeklyBudgetRub),
      monthlyBudgetNano: nanoOf(limits.monthlyBudgetRub),
      totalBudgetNano: nanoOf(limits.totalBudgetRub),
      allowedModels: spec.allowedModels ?? null,
      allowedIps: networksOf(spec.allowedIPs),
      expiresAt: spec.expiresAt === undefined ? null : new Date(spec.expiresAt),
      readBalance: spec.readBalance,
      keepsResponsesHours: spec.keepsResponsesHours ?? null,
    },
    tags: spec.tags ?? [],
    suspended: spec.suspend,
    rotationTrigger: rotation?.trigger ?? null,
    rotationIntervalS: secondsOf(rotation?.interval),
    rotationGraceS: secondsOf(rotation?.gracePeriod) ?? defaultGraceS,
    adoption: spec.adoption,
    deletionPolicy: spec.deletionPolicy,
  }
}

function networksOf(texts: readonly string[] | undefined): readonly string[] | null {
  if (texts === undefined) return null
  const read = readNetworks(texts)
  if ('problems' in read) throw new TypeError('the networks of an ApiKey were not checked by its schema')
  return read.networks
}

/** An amount of a resource; `null`: not limited. Pure. */
export function nanoOf(rub: string | undefined): NanoRub | null {
  return rub === undefined ? null : (findRub(rub) ?? null)
}

function rubOf(nano: NanoRub | null): string | undefined {
  return nano === null ? undefined : formatRub(nano)
}

/** A duration of a resource, in seconds; `null`: not set. Pure. */
export function secondsOf(duration: string | undefined): number | null {
  return duration === undefined ? null : Math.round(durationMs(duration) / 1000)
}

/** Longest name that is shown: the bound of `spec.displayName`. */
const displayNameMax = 120

/**
 * The ApiKey equivalent of a key of the cabinet: `draftKey` reads the same limits and organization out of it
 * again. Pure. `suspend` means that the key is blocked, by any actor.
 *
 * Fails with an explanation if an ApiKey cannot represent the key, such as a budget of a billion rubles.
 */
export function mirrorKey({
  name,
  organization,
  tags,
  limits,
  blockedBy,
}: KeyState): ZodSafeParseResult<ApiKey['spec']> {
  return apiKeySchema.shape.spec.safeParse({
    organization,
    displayName: name.slice(0, displayNameMax).toWellFormed(),
    suspend: blockedBy.length > 0,
    expiresAt: limits.expiresAt?.toISOString(),
    allowedModels: limits.allowedModels ?? undefined,
    allowedIPs: limits.allowedIps ?? undefined,
    tags: tags.length === 0 ? undefined : tags,
    limits: {
      requestsPerMinute: limits.rpm ?? undefined,
      tokensPerMinute: limits.tpm ?? undefined,
      dailyBudgetRub: rubOf(limits.dailyBudgetNano),
      weeklyBudgetRub: rubOf(limits.weeklyBudgetNano),
      monthlyBudgetRub: rubOf(limits.monthlyBudgetNano),
      totalBudgetRub: rubOf(limits.totalBudgetNano),
    },
    readBalance: limits.readBalance,
    keepsResponsesHours: limits.keepsResponsesHours ?? undefined,
  })
}
