import type { ScopedClient } from '../audit/scope.ts'
import type { KeyDraft } from './key-resource.ts'
import type { KeyLimits, KeyState } from './key-state.ts'
import { blockKey, insertKey, renameKey, setLimits, setTags, unblockKey } from './key-store.ts'

/** The change that makes a key match its ApiKey; `undefined`: it matches already. */
export type KeyDifference = {
  readonly name: string | undefined
  readonly limits: KeyLimits | undefined
  readonly tags: readonly string[] | undefined
  /** Of the cluster; blocks of others are not its business. */
  readonly block: 'on' | 'off' | undefined
}

/** How a key differs from what its ApiKey asks for. Pure. */
export function differenceOf(
  key: Pick<KeyState, 'name' | 'tags' | 'limits' | 'blockedBy'>,
  draft: KeyDraft,
): KeyDifference {
  const tags = draft.tags.toSorted()
  const isBlocked = key.blockedBy.includes('kubernetes')
  return {
    name: key.name === draft.name ? undefined : draft.name,
    limits: isSameLimits(key.limits, draft.limits) ? undefined : draft.limits,
    tags: JSON.stringify(key.tags) === JSON.stringify(tags) ? undefined : tags,
    block: isBlocked === draft.suspended ? undefined : draft.suspended ? 'on' : 'off',
  }
}

/** Makes the key that an ApiKey asks for. Nothing opens it yet. */
export async function makeDraftedKey(
  client: ScopedClient,
  id: string,
  organizationId: string,
  { name, tags, limits, suspended }: KeyDraft,
): Promise<void> {
  await insertKey(client, { id, organizationId, name, tags, managedBy: 'kubernetes', ...limits })
  if (suspended) await blockKey(client, id, 'kubernetes')
}

/** Brings a key to what its ApiKey asks for. */
export async function bringKey(
  client: ScopedClient,
  keyId: string,
  { name, tags, limits, block }: KeyDifference,
): Promise<void> {
  if (name !== undefined) await renameKey(client, keyId, name)
  if (tags !== undefined) await setTags(client, keyId, tags)
  if (limits !== undefined) await setLimits(client, keyId, limits)
  if (block === 'on') await blockKey(client, keyId, 'kubernetes')
  if (block === 'off') await unblockKey(client, keyId, 'kubernetes')
}

const budgets = ['dailyBudgetNano', 'weeklyBudgetNano', 'monthlyBudgetNano', 'totalBudgetNano'] as const

function isSameLimits(one: Required<KeyLimits>, other: KeyLimits): boolean {
  return (
    one.rpm === (other.rpm ?? null) &&
    one.tpm === (other.tpm ?? null) &&
    budgets.every((budget) => one[budget] === (other[budget] ?? null)) &&
    one.expiresAt?.getTime() === other.expiresAt?.getTime() &&
    one.readBalance === (other.readBalance ?? false) &&
    one.keepsResponsesHours === (other.keepsResponsesHours ?? null) &&
    JSON.stringify(one.allowedModels) === JSON.stringify(other.allowedModels ?? null) &&
    JSON.stringify(one.allowedIps) === JSON.stringify(other.allowedIps ?? null)
  )
}
