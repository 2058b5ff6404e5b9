import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { hashToken, newToken } from '../../people/session-store.ts'
import { changeOf } from './administrator-store.ts'

/** Seconds for which a printed token is good. */
const tokenS = 3_600

/** Creates a token that sets up an account, and ends the account's earlier ones. Only its hash is stored. */
export async function issueSetUpToken(client: ScopedClient, administratorId: string): Promise<string> {
  const token = newToken()
  await client.withoutAudit(
    'what a token allows is audited when it is used',
    'update administrator_setups set used_at = now() where administrator_id = $1 and used_at is null',
    [administratorId],
  )
  await client.withoutAudit(
    'what a token allows is audited when it is used',
    `insert into administrator_setups (token_hash, administrator_id, expires_at)
     values ($1, $2, now() + make_interval(secs => $3))`,
    [hashToken(token), administratorId, tokenS],
  )
  return token
}

type SetUp = {
  readonly administratorId: string
  readonly email: string
  /** The choice made with this token; `null`: none yet. */
  readonly passwordHash: string | null
  readonly sealed: string | null
}

/** The account of an unspent token. */
export async function findSetUp(client: Queryable, token: string): Promise<SetUp | undefined> {
  const { rows } = await client.query<SetUp>(
    `select a.id as "administratorId", a.email, t.password_hash as "passwordHash", t.totp_sealed as sealed
       from administrator_setups t join administrators a on a.id = t.administrator_id
      where t.token_hash = $1 and t.used_at is null and t.expires_at > now() and a.blocked_at is null`,
    [hashToken(token)],
  )
  return rows[0]
}

/** Keeps what was chosen until its first code confirms it. Returns whether the token was still unspent. */
export async function keepChoice(
  client: ScopedClient,
  token: string,
  { passwordHash, sealed }: { readonly passwordHash: string; readonly sealed: string },
): Promise<boolean> {
  const { rowCount } = await client.withoutAudit(
    'changes no account until it is confirmed, which is audited',
    `update administrator_setups set password_hash = $2, totp_sealed = $3
      where token_hash = $1 and used_at is null and expires_at > now()`,
    [hashToken(token), passwordHash, sealed],
  )
  return rowCount === 1
}

/** Spends a token: what was chosen with it becomes the account's. Returns whether this call did so. */
export async function confirmChoice(
  client: ScopedClient,
  token: string,
  { administratorId, passwordHash, sealed }: SetUp,
  step: number,
): Promise<boolean> {
  const { rowCount } = await client.withoutAudit(
    'part of setting up the account, which is audited',
    `update administrator_setups set used_at = now()
      where token_hash = $1 and used_at is null and totp_sealed = $2 and password_hash = $3`,
    [hashToken(token), sealed, passwordHash],
  )
  if (rowCount !== 1) return false
  const changed = await client.change(
    `update administrators set password_hash = $2, totp_sealed = $3, totp_last_step = greatest(totp_last_step, $4)
      where id = $1 and blocked_at is null returning id`,
    [administratorId, passwordHash, sealed, step],
    () => changeOf('set_up', administratorId, null, { totp: true }),
  )
  return changed.length === 1
}
