import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import type { KeyList } from '#core/process/key-list'
import { createPasswords } from '../people/password.ts'
import { openTotpSecret, sealTotpSecret } from '../people/totp-code.ts'
import { changeOf, findAdministrator } from './internal/administrator-store.ts'
import { endSessions } from './internal/session-rows.ts'
import { issueSetUpToken } from './internal/set-up.ts'

/** What `npm run admin` did. With `token`, the account is to be set up within an hour. */
export type MadeAdministrator =
  | { readonly was: 'new' | 'not_set_up' | 'reset'; readonly token: string }
  | { readonly was: 'ready' | 'blocked' | 'unknown' | 'now_blocked' }

/**
 * Makes an administrator, and a token with which they choose a password and a second factor. Requires the permissions
 * of the database owner, which no process of the installation has.
 *
 * @param wish `reset`: the account loses its password, second factor and sessions, and gets a new token. `block`: the
 * account is blocked until a reset, and its sessions end.
 */
export async function makeAdministrator(
  client: ScopedClient,
  email: string,
  wish: 'make' | 'reset' | 'block',
): Promise<MadeAdministrator> {
  const known = await findAdministrator(client, email)
  if (known === undefined) {
    if (wish !== 'make') return { was: 'unknown' }
    return { was: 'new', token: await issueSetUpToken(client, await insertAdministrator(client, email)) }
  }
  const { id, isBlocked, passwordHash } = known
  if (wish === 'block') {
    await blockAdministrator(client, id)
    return { was: 'now_blocked' }
  }
  if (wish === 'reset') {
    await resetAdministrator(client, id)
    return { was: 'reset', token: await issueSetUpToken(client, id) }
  }
  if (isBlocked) return { was: 'blocked' }
  if (passwordHash !== undefined) return { was: 'ready' }
  return { was: 'not_set_up', token: await issueSetUpToken(client, id) }
}

async function insertAdministrator(client: ScopedClient, email: string): Promise<string> {
  const id = randomUUID()
  await client.change('insert into administrators (id, email) values ($1, $2)', [id, email], () =>
    changeOf('create', id, null, { email }),
  )
  return id
}

async function blockAdministrator(client: ScopedClient, id: string): Promise<void> {
  await client.change(
    'update administrators set blocked_at = now() where id = $1 and blocked_at is null returning id',
    [id],
    () => changeOf('block', id, { blocked: false }, { blocked: true }),
  )
  await endSessions(client, id)
}

async function resetAdministrator(client: ScopedClient, id: string): Promise<void> {
  await client.change(
    'update administrators set password_hash = null, totp_sealed = null, blocked_at = null where id = $1 returning id',
    [id],
    () => changeOf('reset', id, null, null),
  )
  await client.withoutAudit(
    'part of a reset, which is audited',
    'delete from administrator_recovery_codes where administrator_id = $1',
    [id],
  )
  await endSessions(client, id)
}

/**
 * Seeds an administrator whose password and second factor are known, for a demo. If the address is known, nothing
 * changes. Returns whether password and second factor are those given here.
 */
export async function seedAdministrator(
  client: ScopedClient,
  {
    email,
    password,
    totpSecret,
    sealingKeys,
  }: {
    readonly email: string
    readonly password: string
    /** Base32. */
    readonly totpSecret: string
    readonly sealingKeys: KeyList<Uint8Array>
  },
): Promise<boolean> {
  const passwords = createPasswords()
  const known = await findAdministrator(client, email)
  const id = known?.id ?? (await insertAdministrator(client, email))
  if (known?.passwordHash !== undefined) {
    const checked = await passwords.check(password, known.passwordHash, 'known')
    if (checked === 'busy' || !checked.fits) return false
    return (await readSecret(client, id, sealingKeys)) === totpSecret
  }
  const passwordHash = await passwords.hash(password, 'known')
  await client.change(
    'update administrators set password_hash = $2, totp_sealed = $3 where id = $1 returning id',
    [id, passwordHash, sealTotpSecret(totpSecret, id, sealingKeys)],
    () => changeOf('set_up', id, null, { totp: true }),
  )
  return true
}

async function readSecret(
  client: ScopedClient,
  id: string,
  sealingKeys: KeyList<Uint8Array>,
): Promise<string | undefined> {
  const { rows } = await client.query<{ sealed: string }>(
    'select totp_sealed as sealed from administrators where id = $1 and totp_sealed is not null',
    [id],
  )
  const [found] = rows
  return found && openTotpSecret(found.sealed, id, sealingKeys)
}
