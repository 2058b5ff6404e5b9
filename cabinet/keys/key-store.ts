import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Queryable } from '../db/pool.ts'
import { inTransaction } from '../db/transaction.ts'
import type { NanoRub } from '../ledger/money.ts'
import type { Shard } from '../redis/shard.ts'
import { type Blocker, hashKey, type KeyHash, type KeySecret, visiblePartsOf, writeKey } from './key.ts'

/** What a key may do. Left out: the platform's default limits, no budget, all models, no end, no balance. */
export type KeyLimits = {
  readonly rpm?: number | null
  readonly tpm?: number | null
  readonly dailyBudgetNano?: NanoRub | null
  /** Each as `allowedModel` of `#crds/resource` takes it. */
  readonly allowedModels?: readonly string[] | null
  readonly expiresAt?: Date | null
  readonly readBalance?: boolean
}

export type NewKey = KeyLimits & {
  /** Of a key that was lost with a database and is made again; left out: a new one. */
  readonly id?: string
  readonly organizationId: string
  readonly name: string
  readonly managedBy: 'cabinet' | 'kubernetes'
}

/**
 * Makes a key with a fresh secret and answers its text, which nothing can show again.
 *
 * @throws Error when there is no such organization; then nothing is written.
 */
export async function createKey(
  pool: Pool,
  key: NewKey,
  pepper: string,
): Promise<{ readonly keyId: string; readonly key: KeySecret }> {
  return inTransaction(pool, async (client) => {
    const keyId = await insertKey(client, key)
    return { keyId, key: await mintSecret(client, keyId, pepper, 'delivered') }
  })
}

/** Makes a key that nothing opens yet; `mintUndelivered`, `restoreCredential` or `rotateKey` gives it a text. */
export async function insertKey(client: Queryable, key: NewKey): Promise<string> {
  const keyId = key.id ?? randomUUID()
  await client.query(
    `insert into api_keys (id, organization_id, name, managed_by, rpm, tpm, daily_budget_nano, allowed_models,
                           expires_at, read_balance) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [keyId, key.organizationId, key.name, key.managedBy, ...limitValues(key)],
  )
  return keyId
}

/**
 * Lets a text that somebody has open a key. The same text for the same key again changes nothing.
 *
 * `taken`: it opens another key, or did; nothing is written.
 */
export async function restoreCredential(
  client: Queryable,
  keyId: string,
  text: KeySecret,
  pepper: string,
): Promise<'restored' | 'taken'> {
  if ((await insertSecret(client, keyId, text, pepper, 'delivered')) === 'inserted') return 'restored'
  const { rowCount } = await client.query('select from api_key_credentials where hash = $1 and key_id = $2', [
    hashKey(text, pepper),
    keyId,
  ])
  return rowCount === 0 ? 'taken' : 'restored'
}

/**
 * Gives a key a new text that is still to be delivered, and answers it. Other undelivered texts of the key end at
 * once: nobody has seen them. Delivered ones live on until `finishDelivery`. Run in a transaction.
 */
export async function mintUndelivered(client: Queryable, keyId: string, pepper: string): Promise<KeySecret> {
  await lockKey(client, keyId)
  await client.query(
    'update api_key_credentials set revoked_at = now() where key_id = $1 and revoked_at is null and delivered_at is null',
    [keyId],
  )
  return mintSecret(client, keyId, pepper, 'undelivered')
}

/**
 * Notes that a text has reached its owner. Only now the grace of the key's other texts begins: they live on for
 * `graceS` seconds (0: they are dead at once), or shorter where one is running already. Run in a transaction.
 *
 * `ended`: this text opens nothing any more, so nothing was changed.
 */
export async function finishDelivery(
  client: Queryable,
  keyId: string,
  hash: KeyHash,
  graceS: number,
): Promise<'finished' | 'ended'> {
  await lockKey(client, keyId)
  const { rowCount } = await client.query(
    `update api_key_credentials set delivered_at = coalesce(delivered_at, now())
      where key_id = $1 and hash = $2 and revoked_at is null and (valid_until is null or valid_until > now())`,
    [keyId, hash],
  )
  if (rowCount === 0) return 'ended'
  await endSecrets(client, keyId, graceS, hash)
  return 'finished'
}

/**
 * Gives a key a new text and answers it; id, limits and statistics stay. The texts before live on for `graceS`
 * seconds (0: they are dead at once), or shorter where a grace is running already.
 */
export async function rotateKey(
  pool: Pool,
  keyId: string,
  graceS: number,
  pepper: string,
): Promise<{ readonly key: KeySecret }> {
  return inTransaction(pool, async (client) => {
    await lockKey(client, keyId)
    await endSecrets(client, keyId, graceS, null)
    return { key: await mintSecret(client, keyId, pepper, 'delivered') }
  })
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
export async function blockKey(client: Queryable, keyId: string, by: Blocker): Promise<void> {
  const column = blockColumns[by]
  await client.query(`update api_keys set ${column} = now() where id = $1 and ${column} is null`, [keyId])
}

/** Lifts one blocker's block; those of others stay. */
export async function unblockKey(client: Queryable, keyId: string, by: Blocker): Promise<void> {
  const column = blockColumns[by]
  await client.query(`update api_keys set ${column} = null where id = $1 and ${column} is not null`, [keyId])
}

/** Ends a key for good, with all its texts. It stays as a tombstone. */
export async function revokeKey(client: Queryable, keyId: string): Promise<void> {
  await client.query(
    `with key as (update api_keys set revoked_at = now() where id = $1 and revoked_at is null)
     update api_key_credentials set revoked_at = now() where key_id = $1 and revoked_at is null`,
    [keyId],
  )
}

/** Replaces all of a key's limits. Writes nothing when they are what they were. */
export async function updateKeyLimits(client: Queryable, keyId: string, limits: KeyLimits): Promise<void> {
  await client.query(
    `update api_keys
        set rpm = $2, tpm = $3, daily_budget_nano = $4, allowed_models = $5, expires_at = $6, read_balance = $7
      where id = $1 and (rpm, tpm, daily_budget_nano, allowed_models, expires_at, read_balance)
        is distinct from ($2::int, $3::int, $4::bigint, $5::text[], $6::timestamptz, $7::boolean)`,
    [keyId, ...limitValues(limits)],
  )
}

/** Gives a key another name, which is for people only. */
export async function renameKey(client: Queryable, keyId: string, name: string): Promise<void> {
  await client.query('update api_keys set name = $2 where id = $1 and name <> $2', [keyId, name])
}

/** Says who changes a key's settings from now on. */
export async function setManagedBy(
  client: Queryable,
  keyId: string,
  managedBy: NewKey['managedBy'],
): Promise<void> {
  await client.query('update api_keys set managed_by = $2 where id = $1 and managed_by <> $2', [
    keyId,
    managedBy,
  ])
}

/** Whoever changes a key's texts takes turns. */
async function lockKey(client: Queryable, keyId: string): Promise<void> {
  await client.query('select from api_keys where id = $1 for update', [keyId])
}

/** Ends all texts of a key but `except` after a grace, in seconds; 0: at once. */
async function endSecrets(
  client: Queryable,
  keyId: string,
  graceS: number,
  except: KeyHash | null,
): Promise<void> {
  await client.query(
    `update api_key_credentials
        set valid_until = least(valid_until, now() + make_interval(secs => $2)),
            revoked_at = case when $2 = 0 then now() end
      where key_id = $1 and revoked_at is null and hash is distinct from $3`,
    [keyId, graceS, except],
  )
}

type Delivery = 'delivered' | 'undelivered'

async function mintSecret(
  client: Queryable,
  keyId: string,
  pepper: string,
  delivery: Delivery,
): Promise<KeySecret> {
  const { rows } = await client.query<{ shard: Shard }>(
    'select o.shard from api_keys k join organizations o on o.id = k.organization_id where k.id = $1',
    [keyId],
  )
  const [organization] = rows
  if (organization === undefined) throw new Error(`there is no key ${keyId}`)
  const text = writeKey(organization.shard, randomBytes(32))
  await insertSecret(client, keyId, text, pepper, delivery)
  return text
}

async function insertSecret(
  client: Queryable,
  keyId: string,
  text: KeySecret,
  pepper: string,
  delivery: Delivery,
): Promise<'inserted' | 'known'> {
  const { prefix, suffix } = visiblePartsOf(text)
  const { rowCount } = await client.query(
    `insert into api_key_credentials (id, key_id, hash, prefix, suffix, delivered_at)
     values ($1, $2, $3, $4, $5, case when $6 then now() end) on conflict (hash) do nothing`,
    [randomUUID(), keyId, hashKey(text, pepper), prefix, suffix, delivery === 'delivered'],
  )
  return rowCount === 0 ? 'known' : 'inserted'
}

function limitValues(limits: KeyLimits): unknown[] {
  return [
    limits.rpm ?? null,
    limits.tpm ?? null,
    limits.dailyBudgetNano ?? null,
    limits.allowedModels ?? null,
    limits.expiresAt ?? null,
    limits.readBalance ?? false,
  ]
}
