import type { Change, Facts } from '../../audit/audit-log.ts'
import type { ScopedClient } from '../../audit/scope.ts'
import { type KeySecret, visiblePartsOf } from '../key.ts'
import type { KeyLimits } from '../key-state.ts'

export type LockedKey = Required<KeyLimits> & {
  readonly keyId: string
  readonly organizationId: string
  readonly name: string
  readonly tags: readonly string[]
}

/** A key before it is changed, if there is one. Locks the key and its secrets until the transaction ends. */
export async function lockKey(client: ScopedClient, keyId: string): Promise<LockedKey | undefined> {
  const { rows } = await client.query<LockedKey>(
    `select id as "keyId", organization_id as "organizationId", name, tags, rpm, tpm,
            daily_budget_nano as "dailyBudgetNano", weekly_budget_nano as "weeklyBudgetNano",
            monthly_budget_nano as "monthlyBudgetNano", total_budget_nano as "totalBudgetNano", allowed_models as "allowedModels",
            allowed_ips as "allowedIps", expires_at as "expiresAt",
            read_balance as "readBalance", keeps_responses_hours as "keepsResponsesHours"
       from api_keys where id = $1 for update`,
    [keyId],
  )
  return rows[0]
}

/** A change of a key, for the audit log. */
export function keyChange(
  verb: string,
  { keyId, organizationId }: Pick<LockedKey, 'keyId' | 'organizationId'>,
  before: Facts | null,
  after: Facts | null,
): Change {
  return { action: `key.${verb}`, subject: { kind: 'ApiKey', id: keyId }, organizationId, before, after }
}

/** Limits with those that are left out, as the audit log and the database have them. */
export function wholeLimits(limits: KeyLimits): Required<KeyLimits> {
  return {
    rpm: limits.rpm ?? null,
    tpm: limits.tpm ?? null,
    dailyBudgetNano: limits.dailyBudgetNano ?? null,
    weeklyBudgetNano: limits.weeklyBudgetNano ?? null,
    monthlyBudgetNano: limits.monthlyBudgetNano ?? null,
    totalBudgetNano: limits.totalBudgetNano ?? null,
    allowedModels: limits.allowedModels ?? null,
    allowedIps: limits.allowedIps ?? null,
    expiresAt: limits.expiresAt ?? null,
    readBalance: limits.readBalance ?? false,
    keepsResponsesHours: limits.keepsResponsesHours ?? null,
  }
}

/** The part of a secret by which users recognize it: `sk-gateway-07Ab…wxyz`. Most of it is left out. */
export function shownSecret(secret: KeySecret): string {
  const { prefix, suffix } = visiblePartsOf(secret)
  return `${prefix}…${suffix}`
}
