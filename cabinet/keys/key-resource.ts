import type { ApiKey } from '#crds/api-key'
import { durationMs } from '#crds/resource'
import { findRub } from '../ledger/money.ts'
import type { KeyLimits } from './key-store.ts'

/** What an ApiKey means for the database. */
export type KeyDraft = {
  readonly name: string
  /** Who pays, by name. */
  readonly organization: string
  readonly limits: KeyLimits
  readonly suspended: boolean
  /** A new value is due when it changes; `null`: none is asked for. */
  readonly rotationTrigger: string | null
  readonly rotationGraceS: number
  readonly deletionPolicy: 'Revoke' | 'Orphan'
}

const defaultGraceS = 86_400

/** What an ApiKey means for the database. Pure. */
export function draftKey({ metadata, spec }: ApiKey): KeyDraft {
  const { limits, rotation } = spec
  return {
    name: metadata.name,
    organization: spec.organization,
    limits: {
      rpm: limits.requestsPerMinute ?? null,
      tpm: limits.tokensPerMinute ?? null,
      dailyBudgetNano: limits.dailyBudgetRub === undefined ? null : (findRub(limits.dailyBudgetRub) ?? null),
      allowedModels: spec.allowedModels ?? null,
      expiresAt: spec.expiresAt === undefined ? null : new Date(spec.expiresAt),
      readBalance: spec.readBalance,
    },
    suspended: spec.suspend,
    rotationTrigger: rotation?.trigger ?? null,
    rotationGraceS:
      rotation === undefined ? defaultGraceS : Math.round(durationMs(rotation.gracePeriod) / 1000),
    deletionPolicy: spec.deletionPolicy,
  }
}
