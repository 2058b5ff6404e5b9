import { randomBytes, randomUUID } from 'node:crypto'
import type { ScopedClient } from '../../audit/scope.ts'
import type { Shard } from '../../redis/shard.ts'
import { hashKey, type KeyHash, type KeySecret, visiblePartsOf, writeKey } from '../key.ts'
import { keyChange, type LockedKey, shownSecret } from './key-change.ts'

/** How a key comes by a secret. */
export type Addition = {
  readonly pepper: string
  /** Whether it was delivered to a user. */
  readonly delivery: 'delivered' | 'undelivered'
  /** Its name in the audit log. */
  readonly verb: 'add_secret' | 'rotate' | 'restore_secret'
}

/** Gives a key a fresh secret and answers it. */
export async function addFreshSecret(
  client: ScopedClient,
  key: Pick<LockedKey, 'keyId' | 'organizationId'>,
  addition: Addition,
): Promise<KeySecret> {
  const { rows } = await client.query<{ shard: Shard }>('select shard from organizations where id = $1', [
    key.organizationId,
  ])
  const [organization] = rows
  if (organization === undefined) throw new Error(`there is no organization ${key.organizationId}`)
  const secret = writeKey(organization.shard, randomBytes(32), addition.pepper)
  await addSecret(client, key, secret, addition)
  return secret
}

/** `known`: it opens a key already, or did; nothing is written. */
export async function addSecret(
  client: ScopedClient,
  key: Pick<LockedKey, 'keyId' | 'organizationId'>,
  secret: KeySecret,
  { pepper, delivery, verb }: Addition,
): Promise<'added' | 'known'> {
  const { prefix, suffix } = visiblePartsOf(secret)
  const added = await client.change(
    `insert into api_key_credentials (id, key_id, hash, prefix, suffix, delivered_at)
     values ($1, $2, $3, $4, $5, case when $6 then now() end) on conflict (hash) do nothing returning id`,
    [randomUUID(), key.keyId, hashKey(secret, pepper), prefix, suffix, delivery === 'delivered'],
    () => keyChange(verb, key, null, { secret: shownSecret(secret), delivery }),
  )
  return added.length === 0 ? 'known' : 'added'
}

/** Ends all secrets of a key but `except` after a grace, in seconds; 0: at once. A shorter grace that runs stays. */
export async function endSecrets(
  client: ScopedClient,
  key: Pick<LockedKey, 'keyId' | 'organizationId'>,
  graceS: number,
  except: KeyHash | null,
): Promise<void> {
  await client.change<{ shown: string }>(
    `update api_key_credentials
        set valid_until = least(valid_until, now() + make_interval(secs => $2)),
            revoked_at = case when $2 = 0 then now() end
      where key_id = $1 and revoked_at is null and hash is distinct from $3
        and ($2 = 0 or valid_until is null or valid_until > now() + make_interval(secs => $2))
      returning prefix || '…' || suffix as shown`,
    [key.keyId, graceS, except],
    (ended) => keyChange('end_secrets', key, null, { secrets: ended.map(({ shown }) => shown), graceS }),
  )
}

/** Secrets that open one key of an ApiKey at the same time: the newest, and the two before it. */
const liveSecretsMax = 3

/** Ends the oldest secrets of a key at once, so that at most three open it: `newest` and two more. */
export async function endOldestSecrets(
  client: ScopedClient,
  key: Pick<LockedKey, 'keyId' | 'organizationId'>,
  newest: KeyHash,
): Promise<void> {
  await client.change<{ shown: string }>(
    `update api_key_credentials set revoked_at = now()
      where id in (select id from api_key_credentials
                    where key_id = $1 and revoked_at is null and (valid_until is null or valid_until > now())
                      and delivered_at is not null and hash is distinct from $2
                    order by created_at desc, id offset $3)
      returning prefix || '…' || suffix as shown`,
    [key.keyId, newest, liveSecretsMax - 1],
    (ended) => keyChange('end_secrets', key, null, { secrets: ended.map(({ shown }) => shown), graceS: 0 }),
  )
}
