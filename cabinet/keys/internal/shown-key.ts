import { createHash } from 'node:crypto'
import { findKeyOwners, type KeyOwner } from '#core/clusters/cluster-resources'
import type { Queryable } from '#core/db/pool'
import { currentSecret } from '#core/keys/key-delivery'
import type { KeyState } from '#core/keys/key-state'
import { readBalance } from '#core/ledger/balance'
import { readSpentToday } from '#core/ledger/key-day'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import { readLastUsedHours } from '../../billing/key-use.ts'
import type { ShownKey, ShownRevokedKey } from '../key-contracts.ts'

/** Data shown with a key in addition to its own state. */
type Surroundings = {
  readonly balance: NanoRub
  readonly spentToday: NanoRub
  readonly lastUsedHour: Date | null
  readonly kubernetes: ShownKey['kubernetes']
}

/** Keys of one organization as their owner sees them. */
export async function showKeys(
  client: Queryable,
  organizationId: string,
  keys: readonly KeyState[],
): Promise<ShownKey[]> {
  const keyIds = keys.map(({ keyId }) => keyId)
  const surroundingsOf = await readSurroundings(client, organizationId, keyIds)
  return keys.map((key) => showKey(key, surroundingsOf(key.keyId)))
}

/** One key as its owner sees it. */
export async function showOneKey(client: Queryable, key: KeyState): Promise<ShownKey> {
  const surroundingsOf = await readSurroundings(client, key.organizationId, [key.keyId])
  return showKey(key, surroundingsOf(key.keyId))
}

/** Revoked keys of one organization as their owner sees them. */
export async function showRevokedKeys(
  client: Queryable,
  organizationId: string,
  keys: readonly KeyState[],
): Promise<ShownRevokedKey[]> {
  const keyIds = keys.map(({ keyId }) => keyId)
  const surroundingsOf = await readSurroundings(client, organizationId, keyIds)
  return keys.flatMap((key) =>
    key.revokedAt === null ? [] : showRevokedKey(key, key.revokedAt, surroundingsOf(key.keyId)),
  )
}

function showRevokedKey(key: KeyState, revokedAt: Date, surroundings: Surroundings): ShownRevokedKey {
  const { secrets_in_grace, status, blocked_by, spent_today_rub, ...rest } = showKey(key, surroundings)
  const last = key.secrets.find(({ delivered }) => delivered)
  return {
    ...rest,
    secret_hint: last === undefined ? null : hintOf(last),
    revoked_at: revokedAt.toISOString(),
  }
}

async function readSurroundings(
  client: Queryable,
  organizationId: string,
  keyIds: readonly string[],
): Promise<(keyId: string) => Surroundings> {
  const balance = await readBalance(client, organizationId)
  const spentToday = await readSpentToday(client, organizationId, keyIds)
  const lastUsedHours = await readLastUsedHours(client, organizationId, keyIds)
  const owners = await findKeyOwners(client, organizationId, keyIds)
  return (keyId) => {
    const owner = owners.get(keyId)
    return {
      balance,
      spentToday: spentToday.get(keyId) ?? nanoRub(0n),
      lastUsedHour: lastUsedHours.get(keyId) ?? null,
      kubernetes: owner === undefined ? null : shownOwner(owner),
    }
  }
}

/** The ApiKey that owns a key, as named in responses and problems. */
export function shownOwner({ clusterId, namespace, name }: KeyOwner) {
  return { cluster: clusterId, namespace, name }
}

/** A key as its owner sees it. If the organization has no money, each of its keys is shown as blocked. Pure. */
function showKey(key: KeyState, { balance, spentToday, lastUsedHour, kubernetes }: Surroundings): ShownKey {
  const { limits, secrets } = key
  const current = currentSecret(secrets)
  const blockedBy = blockersOf(key, balance)
  return {
    id: key.keyId,
    name: key.name,
    tags: [...key.tags],
    secret_hint: current === undefined ? null : hintOf(current),
    secrets_in_grace: secrets.flatMap((secret) =>
      secret.state === 'live' && secret.validUntil !== null
        ? { secret_hint: hintOf(secret), valid_until: secret.validUntil.toISOString() }
        : [],
    ),
    status: blockedBy.length === 0 ? 'active' : 'blocked',
    blocked_by: blockedBy,
    rpm: limits.rpm,
    tpm: limits.tpm,
    daily_budget_rub: rubOf(limits.dailyBudgetNano),
    weekly_budget_rub: rubOf(limits.weeklyBudgetNano),
    monthly_budget_rub: rubOf(limits.monthlyBudgetNano),
    total_budget_rub: rubOf(limits.totalBudgetNano),
    allowed_models: limits.allowedModels === null ? null : [...limits.allowedModels],
    allowed_ips: limits.allowedIps === null ? null : [...limits.allowedIps],
    expires_at: limits.expiresAt === null ? null : expiryText(limits.expiresAt),
    read_balance: limits.readBalance,
    keeps_responses_hours: limits.keepsResponsesHours,
    spent_today_rub: formatRub(spentToday),
    last_used_hour: lastUsedHour?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    managed_by: key.managedBy,
    purpose: key.purpose,
    kubernetes,
  }
}

function rubOf(nano: NanoRub | null): string | null {
  return nano === null ? null : formatRub(nano)
}

/** Begins with the key's version, which `isVersion` compares. The rest changes with anything else shown. */
export function versionOf({ version }: Pick<KeyState, 'version'>, shown: ShownKey): string {
  const digest = createHash('sha256').update(JSON.stringify(shown)).digest('base64url')
  return `${version}-${digest.slice(0, 16)}`
}

/**
 * Whether an `If-Match` names the current version of a key. Charges posted since then do not change the version. Pure.
 */
export function isVersion(ifMatch: string, { version }: Pick<KeyState, 'version'>): boolean {
  return ifMatch.split('-', 1)[0] === String(version)
}

/** The latest time with a four-digit year. An ApiKey may have a later one. */
const timeMaxMs = Date.UTC(9999, 11, 31)

export function expiryText(expiresAt: Date): string {
  return new Date(Math.min(expiresAt.getTime(), timeMaxMs)).toISOString()
}

function blockersOf({ blockedBy }: KeyState, balance: NanoRub): ShownKey['blocked_by'] {
  return balance > 0n ? [...blockedBy] : [...blockedBy, 'balance']
}

function hintOf({ prefix, suffix }: KeyState['secrets'][number]): string {
  return `${prefix}…${suffix}`
}
