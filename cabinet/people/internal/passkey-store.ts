import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'

/** Passkeys of one user: as many as devices, password managers and security keys that a person has. */
export const passkeysMax = 20

/** A passkey as its user sees it. */
export type Passkey = {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** A passkey in a response of the API. */
export function shownPasskey({ id, name, createdAt, lastUsedAt }: Passkey) {
  return {
    id,
    name,
    created_at: createdAt.toISOString(),
    last_used_at: lastUsedAt?.toISOString() ?? null,
  }
}

/** A passkey to compare a signature with. `counter`: a whole number, as text. */
export type StoredPasskey = {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly publicKey: Buffer
  readonly counter: string
}

const columns = 'id, name, created_at as "createdAt", last_used_at as "lastUsedAt"'

/** Latest first. */
export async function listPasskeys(client: Queryable, userId: string): Promise<readonly Passkey[]> {
  const { rows } = await client.query<Passkey>(
    `select ${columns} from passkeys where user_id = $1 order by created_at desc, id limit $2`,
    [userId, passkeysMax],
  )
  return rows
}

/** The IDs by which devices know a user's passkeys. */
export async function listCredentialIds(client: Queryable, userId: string): Promise<readonly Buffer[]> {
  const { rows } = await client.query<{ readonly id: Buffer }>(
    'select credential_id as id from passkeys where user_id = $1 limit $2',
    [userId, passkeysMax],
  )
  return rows.map(({ id }) => id)
}

export async function findPasskey(
  client: Queryable,
  credentialId: Buffer,
): Promise<StoredPasskey | undefined> {
  const { rows } = await client.query<StoredPasskey>(
    `select p.id, p.user_id as "userId", u.email, p.public_key as "publicKey", p.counter::text as counter
       from passkeys p join users u on u.id = p.user_id where p.credential_id = $1`,
    [credentialId],
  )
  return rows[0]
}

type NewPasskey = {
  readonly name: string
  readonly credentialId: Buffer
  readonly publicKey: Uint8Array
  readonly counter: number
  readonly issuedAt: Date
}

/** `known`: the device's passkey is already stored, for this user or another. */
export async function insertPasskey(
  client: ScopedClient,
  userId: string,
  { name, credentialId, publicKey, counter, issuedAt }: NewPasskey,
): Promise<Passkey | 'too_many' | 'known'> {
  await client.query('select from users where id = $1 for no key update', [userId]) // one addition at a time
  const { rows } = await client.query('select from passkeys where user_id = $1', [userId])
  if (rows.length >= passkeysMax) return 'too_many'
  const [made] = await client.change<Passkey>(
    `insert into passkeys (id, user_id, name, credential_id, public_key, counter, last_challenge_at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential_id) do nothing returning ${columns}`,
    [randomUUID(), userId, name, credentialId, Buffer.from(publicKey), counter, issuedAt],
    () => passkeyChange(userId, 'user.add_passkey', { name }),
  )
  return made ?? 'known'
}

/** Notes a signature, once for each challenge, in the order of the challenges. Returns whether it may sign in. */
export async function noteSignature(
  client: ScopedClient,
  passkeyId: string,
  { counter, issuedAt }: { readonly counter: number; readonly issuedAt: Date },
): Promise<boolean> {
  const { rowCount } = await client.withoutAudit(
    'part of a sign-in, which is audited',
    `update passkeys set counter = $2, last_challenge_at = $3, last_used_at = clock_timestamp()
      where id = $1 and last_challenge_at < $3`,
    [passkeyId, counter, issuedAt],
  )
  return rowCount === 1
}

/** The removed passkey's name. `undefined`: the user has no such passkey. */
export async function deletePasskey(
  client: ScopedClient,
  userId: string,
  passkeyId: string,
): Promise<string | undefined> {
  const [gone] = await client.change<{ readonly name: string }>(
    'delete from passkeys where id = $1 and user_id = $2 returning name',
    [passkeyId, userId],
    ([row]) => passkeyChange(userId, 'user.remove_passkey', { name: row?.name ?? '' }),
  )
  return gone?.name
}

/** Removes all passkeys of a user: an intruder who knew the password may have added one. */
export async function deletePasskeys(
  client: ScopedClient,
  { userId, organizationId }: { readonly userId: string; readonly organizationId: string | null },
): Promise<void> {
  await client.change<{ readonly name: string }>(
    'delete from passkeys where user_id = $1 returning name',
    [userId],
    (rows) => ({
      ...passkeyChange(userId, 'user.remove_passkey', { name: rows.map(({ name }) => name).join(', ') }),
      organizationId,
    }),
  )
}

function passkeyChange(
  userId: string,
  action: 'user.add_passkey' | 'user.remove_passkey',
  passkey: { readonly name: string },
) {
  const isAdded = action === 'user.add_passkey'
  return {
    action,
    subject: { kind: 'User', id: userId },
    organizationId: null,
    before: isAdded ? null : passkey,
    after: isAdded ? passkey : null,
  } as const
}
