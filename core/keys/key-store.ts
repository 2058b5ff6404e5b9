import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '../audit/scope.ts'
import type { Queryable } from '../db/pool.ts'
import { keyChange, lockKey, wholeLimits } from './internal/key-change.ts'
import { addFreshSecret, addSecret, endOldestSecrets, endSecrets } from './internal/secret-rows.ts'
import { type Blocker, hashKey, type KeyHash, type KeySecret } from './key.ts'
import { type KeyLimits, type KeyPurpose, type KeyState, readKeyOf } from './key-state.ts'

export type NewKey = KeyLimits & {
  /** Of a key that was lost with a database and is made again; left out: a new one. */
  readonly id?: string
  readonly organizationId: string
  readonly name: string
  readonly tags?: readonly string[]
  readonly managedBy: 'cabinet' | 'kubernetes'
  readonly purpose?: KeyPurpose
  /** The user whose limit it counts for. */
  readonly createdBy?: string
}

/**
 * Makes a key with a fresh secret and answers both; nothing can show the secret again.
 *
 * @throws DatabaseError 23503: no such organization.
 */
export async function createKey(
  client: ScopedClient,
  key: NewKey,
  pepper: string,
): Promise<{ readonly keyId: string; readonly secret: KeySecret }> {
  const keyId = await insertKey(client, key)
  const { organizationId } = key
  const made = { keyId, organizationId }
  return {
    keyId,
    secret: await addFreshSecret(client, made, { pepper, delivery: 'delivered', verb: 'add_secret' }),
  }
}

/** Makes a key that nothing opens yet; `mintUndelivered`, `restoreSecret` or `rotateKey` gives it a secret. */
export async function insertKey(client: ScopedClient, key: NewKey): Promise<string> {
  const keyId = key.id ?? randomUUID()
  const { organizationId, name, managedBy, purpose = 'general' } = key
  const limits = wholeLimits(key)
  const tags = inOrder(key.tags ?? [])
  await client.change(
    `insert into api_keys (id, organization_id, name, managed_by, rpm, tpm, daily_budget_nano,
                           weekly_budget_nano, monthly_budget_nano, total_budget_nano, allowed_models,
                           allowed_ips, expires_at, read_balance, keeps_responses_hours, purpose, created_by, tags)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
    [keyId, organizationId, name, managedBy, ...limitValues(limits), purpose, key.createdBy ?? null, tags],
    () =>
      keyChange('create', { keyId, organizationId }, null, {
        name,
        managedBy,
        purpose,
        ...limits,
        ...(tags.length > 0 && { tags }),
      }),
  )
  return keyId
}

/**
 * Lets a secret that a user already has open a key. The same secret for the same key again changes nothing.
 *
 * `taken`: it opens another key, or did; nothing is written.
 */
export async function restoreSecret(
  client: ScopedClient,
  keyId: string,
  secret: KeySecret,
  pepper: string,
): Promise<'restored' | 'taken'> {
  const key = await lockExisting(client, keyId)
  const addition = { pepper, delivery: 'delivered', verb: 'restore_secret' } as const
  if ((await addSecret(client, key, secret, addition)) === 'added') return 'restored'
  const { rowCount } = await client.query('select from api_key_credentials where hash = $1 and key_id = $2', [
    hashKey(secret, pepper),
    keyId,
  ])
  return rowCount === 0 ? 'taken' : 'restored'
}

/**
 * Gives a key a new secret that is still to be delivered, and returns it. Other undelivered secrets of the
 * key end at once, because no user has received them. Delivered ones remain valid until `finishDelivery`.
 */
export async function mintUndelivered(
  client: ScopedClient,
  keyId: string,
  pepper: string,
): Promise<KeySecret> {
  const key = await lockExisting(client, keyId)
  await client.withoutAudit(
    'part of a change of the key, which is audited',
    'update api_key_credentials set revoked_at = now() where key_id = $1 and revoked_at is null and delivered_at is null',
    [keyId],
  )
  return addFreshSecret(client, key, { pepper, delivery: 'undelivered', verb: 'add_secret' })
}

/**
 * Records that a secret has reached its owner. Only now the grace period of the key's other secrets begins.
 * They stay valid for `graceS` seconds (0: they end at once), or less if a shorter period is running already; all but
 * the newest two of them end at once. A repeated call writes nothing.
 *
 * `ended`: this secret is no longer valid, so nothing was changed.
 */
export async function finishDelivery(
  client: ScopedClient,
  keyId: string,
  hash: KeyHash,
  graceS: number,
): Promise<'finished' | 'ended'> {
  const key = await lockKey(client, keyId)
  if (key === undefined) return 'ended'
  const { rows } = await client.query<{ shown: string; delivered: boolean }>(
    `select prefix || '…' || suffix as shown, delivered_at is not null as delivered from api_key_credentials
      where key_id = $1 and hash = $2 and revoked_at is null and (valid_until is null or valid_until > now())`,
    [keyId, hash],
  )
  const [secret] = rows
  if (secret === undefined) return 'ended'
  if (!secret.delivered)
    await client.change(
      'update api_key_credentials set delivered_at = now() where key_id = $1 and hash = $2',
      [keyId, hash],
      () => keyChange('deliver_secret', key, null, { secret: secret.shown }),
    )
  await endSecrets(client, key, graceS, hash)
  await endOldestSecrets(client, key, hash)
  return 'finished'
}

/**
 * Gives a key a new secret and answers it; id, limits and statistics stay. The secrets before live on for `graceS`
 * seconds (0: they are dead at once), or shorter where a grace is running already.
 */
export async function rotateKey(
  client: ScopedClient,
  keyId: string,
  graceS: number,
  pepper: string,
): Promise<{ readonly secret: KeySecret }> {
  const key = await lockExisting(client, keyId)
  await endSecrets(client, key, graceS, null)
  return { secret: await addFreshSecret(client, key, { pepper, delivery: 'delivered', verb: 'rotate' }) }
}

/** The oldest key of this name that is not revoked, if there is one. */
export async function findKeyNamed(
  client: Queryable,
  { organizationId, name, managedBy }: Pick<NewKey, 'organizationId' | 'name' | 'managedBy'>,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    `select id from api_keys where organization_id = $1 and name = $2 and managed_by = $3 and revoked_at is null
      order by created_at, id limit 1`,
    [organizationId, name, managedBy],
  )
  return rows[0]?.id
}

const blockColumns = {
  owner: 'owner_blocked_at',
  admin: 'admin_blocked_at',
  kubernetes: 'kubernetes_blocked_at',
} as const satisfies Record<Blocker, string>

/** Blocks a key in the name of one of its blockers; blocked already: keeps the first time. */
export async function blockKey(client: ScopedClient, keyId: string, by: Blocker): Promise<void> {
  const column = blockColumns[by]
  await client.change<Owner>(
    `update api_keys set ${column} = now() where id = $1 and ${column} is null ${returningOwner}`,
    [keyId],
    ([owner]) => owner && keyChange('block', owner, null, { blockedBy: by }),
  )
}

/** Lifts one blocker's block; those of others stay. */
export async function unblockKey(client: ScopedClient, keyId: string, by: Blocker): Promise<void> {
  const column = blockColumns[by]
  await client.change<Owner>(
    `update api_keys set ${column} = null where id = $1 and ${column} is not null ${returningOwner}`,
    [keyId],
    ([owner]) => owner && keyChange('unblock', owner, { blockedBy: by }, null),
  )
}

/** Ends a key for good, with all its secrets. It stays as a tombstone. */
export async function revokeKey(client: ScopedClient, keyId: string): Promise<void> {
  await client.change<Owner>(
    `update api_keys set revoked_at = now() where id = $1 and revoked_at is null ${returningOwner}`,
    [keyId],
    ([owner]) => owner && keyChange('revoke', owner, { revoked: false }, { revoked: true }),
  )
  await client.withoutAudit(
    'part of a change of the key, which is audited',
    'update api_key_credentials set revoked_at = now() where key_id = $1 and revoked_at is null',
    [keyId],
  )
}

/** Replaces all of a key's limits. Writes nothing when they are unchanged. */
export async function setLimits(client: ScopedClient, keyId: string, limits: KeyLimits): Promise<void> {
  const key = await lockKey(client, keyId)
  if (key === undefined) return
  const after = wholeLimits(limits)
  await client.change(
    `update api_keys
        set rpm = $2, tpm = $3, daily_budget_nano = $4, weekly_budget_nano = $5, monthly_budget_nano = $6,
            total_budget_nano = $7, allowed_models = $8, allowed_ips = $9, expires_at = $10, read_balance = $11,
            keeps_responses_hours = $12
      where id = $1
        and (rpm, tpm, daily_budget_nano, weekly_budget_nano, monthly_budget_nano, total_budget_nano, allowed_models,
             allowed_ips, expires_at, read_balance, keeps_responses_hours)
        is distinct from ($2::int, $3::int, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::text[],
                          $9::text[], $10::timestamptz, $11::boolean, $12::smallint)`,
    [keyId, ...limitValues(after)],
    () => keyChange('set_limits', key, wholeLimits(key), after),
  )
}

/** Renames a key. The name is only for users. */
export async function renameKey(client: ScopedClient, keyId: string, name: string): Promise<void> {
  const key = await lockKey(client, keyId)
  if (key === undefined) return
  await client.change('update api_keys set name = $2 where id = $1 and name <> $2', [keyId, name], () =>
    keyChange('rename', key, { name: key.name }, { name }),
  )
}

/** Replaces the tags of a key. Writes nothing when they are unchanged. */
export async function setTags(client: ScopedClient, keyId: string, tags: readonly string[]): Promise<void> {
  const key = await lockKey(client, keyId)
  if (key === undefined) return
  const after = inOrder(tags)
  await client.change(
    'update api_keys set tags = $2 where id = $1 and tags <> $2::text[]',
    [keyId, after],
    () => keyChange('set_tags', key, { tags: key.tags }, { tags: after }),
  )
}

const inOrder = (tags: readonly string[]) => [...new Set(tags)].toSorted()

/** Sets who changes a key's settings from now on. */
export async function setManagedBy(
  client: ScopedClient,
  keyId: string,
  managedBy: NewKey['managedBy'],
): Promise<void> {
  const before = managedBy === 'cabinet' ? 'kubernetes' : 'cabinet'
  await client.change<Owner>(
    `update api_keys set managed_by = $2 where id = $1 and managed_by <> $2 ${returningOwner}`,
    [keyId, managedBy],
    ([owner]) => owner && keyChange('set_manager', owner, { managedBy: before }, { managedBy }),
  )
}

/** Locks a key of an organization and its secrets until the transaction ends, unless the key is revoked. */
export async function holdKeyOf(
  client: ScopedClient,
  organizationId: string,
  keyId: string,
): Promise<KeyState | undefined> {
  await client.query('select from api_keys where id = $1 and organization_id = $2 for update', [
    keyId,
    organizationId,
  ])
  return readKeyOf(client, organizationId, keyId)
}

/** Until the transaction ends, other callers of this wait to create a key for this organization. */
export async function holdKeysOf(client: ScopedClient, organizationId: string): Promise<void> {
  await client.query('select from organizations where id = $1 for no key update', [organizationId])
}

type Owner = { readonly keyId: string; readonly organizationId: string }

const returningOwner = 'returning id as "keyId", organization_id as "organizationId"'

/** A key that the caller knows to exist. */
async function lockExisting(client: ScopedClient, keyId: string) {
  const key = await lockKey(client, keyId)
  if (key === undefined) throw new Error(`there is no key ${keyId}`)
  return key
}

function limitValues(limits: Required<KeyLimits>): unknown[] {
  const { rpm, tpm, dailyBudgetNano, weeklyBudgetNano, monthlyBudgetNano, totalBudgetNano } = limits
  const { allowedModels, allowedIps, expiresAt, readBalance, keepsResponsesHours } = limits
  const budgets = [dailyBudgetNano, weeklyBudgetNano, monthlyBudgetNano, totalBudgetNano]
  return [rpm, tpm, ...budgets, allowedModels, allowedIps, expiresAt, readBalance, keepsResponsesHours]
}
