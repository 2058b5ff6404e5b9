import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { KeyList } from '#core/process/key-list'
import type { SecondFactor } from '../fields.ts'
import {
  newRecoveryCodes,
  newTotpSecret,
  otpauthUri,
  readCode,
  recoveryHash,
  resealed,
  sealTotpSecret,
} from '../totp-code.ts'

/** Accepts a code of the second factor or a recovery code, once. Returns whether it was valid. */
export function acceptFactor(
  client: ScopedClient,
  userId: string,
  { code, recovery_code }: SecondFactor,
  sealingKeys: KeyList<Uint8Array>,
): Promise<boolean> {
  if (code !== undefined) return acceptCode(client, userId, code, sealingKeys)
  return acceptRecoveryCode(client, userId, recovery_code ?? '')
}

/** Accepts a code of an active second factor. No step is accepted twice, and no earlier step after a later one. */
export async function acceptCode(
  client: ScopedClient,
  userId: string,
  code: string,
  sealingKeys: KeyList<Uint8Array>,
): Promise<boolean> {
  const found = await findFactor(client, userId)
  if (found === undefined) return false
  const { secret, step } = readCode(userId, found.sealed, code, sealingKeys)
  if (step === undefined) return false
  const { rowCount } = await client.withoutAudit(
    'part of a change of the second factor, which is audited',
    `update users set totp_last_step = $2, totp_sealed = $4
      where id = $1 and totp_last_step < $2 and totp_sealed = $3 and totp_enrolled_at is not null`,
    [userId, step, found.sealed, resealed(userId, found.sealed, secret, sealingKeys)],
  )
  return rowCount === 1
}

/** Stores a new secret, which becomes active with its first code. `undefined`: a second factor is already active. */
export async function beginEnrolment(
  client: ScopedClient,
  { userId, email }: { readonly userId: string; readonly email: string },
  sealingKeys: KeyList<Uint8Array>,
): Promise<{ readonly secret: string; readonly uri: string } | undefined> {
  const secret = newTotpSecret()
  const { rowCount } = await client.withoutAudit(
    'part of a change of the second factor, which is audited',
    'update users set totp_sealed = $2 where id = $1 and totp_enrolled_at is null',
    [userId, sealTotpSecret(secret, userId, sealingKeys)],
  )
  if (rowCount !== 1) return undefined
  return { secret, uri: otpauthUri(email, secret) }
}

/** The encrypted secret of an active second factor. */
async function findFactor(
  client: Queryable,
  userId: string,
): Promise<{ readonly sealed: string } | undefined> {
  const { rows } = await client.query<{ readonly sealed: string }>(
    'select totp_sealed as sealed from users where id = $1 and totp_enrolled_at is not null',
    [userId],
  )
  return rows[0]
}

/** Activates a second factor with its first code. `none`: there is none to activate. */
export async function finishEnrolment(
  client: ScopedClient,
  userId: string,
  code: string,
  sealingKeys: KeyList<Uint8Array>,
): Promise<'on' | 'wrong' | 'none'> {
  const { rows } = await client.query<{ sealed: string }>(
    `select totp_sealed as sealed from users where id = $1 and totp_enrolled_at is null and totp_sealed is not null`,
    [userId],
  )
  const [found] = rows
  if (found === undefined) return 'none'
  const { step } = readCode(userId, found.sealed, code, sealingKeys)
  if (step === undefined) return 'wrong'
  const turnedOn = await client.change(
    `update users set totp_enrolled_at = now(), totp_last_step = $2
      where id = $1 and totp_enrolled_at is null and totp_sealed = $3 and totp_last_step < $2 returning id`,
    [userId, step, found.sealed],
    () => totpChange(userId, true),
  )
  return turnedOn.length === 1 ? 'on' : 'wrong'
}

/**
 * Removes a second factor and its recovery codes. The last step is kept, so that its codes are never accepted again.
 */
export async function removeFactor(client: ScopedClient, userId: string): Promise<void> {
  await client.change(
    'update users set totp_enrolled_at = null, totp_sealed = null where id = $1 and totp_enrolled_at is not null returning id',
    [userId],
    () => totpChange(userId, false),
  )
  await client.withoutAudit(
    'part of a change of the second factor, which is audited',
    'delete from recovery_codes where user_id = $1',
    [userId],
  )
}

function totpChange(userId: string, isOn: boolean) {
  return {
    action: isOn ? 'user.enable_totp' : 'user.disable_totp',
    subject: { kind: 'User', id: userId },
    organizationId: null,
    before: { totp: !isOn },
    after: { totp: isOn },
  } as const
}

/** Replaces the recovery codes with ten new ones, which are shown once. */
export async function renewRecoveryCodes(client: ScopedClient, userId: string): Promise<string[]> {
  const codes = newRecoveryCodes()
  await client.withoutAudit(
    'part of a change of the second factor, which is audited',
    'delete from recovery_codes where user_id = $1',
    [userId],
  )
  await client.change(
    'insert into recovery_codes (user_id, code_hash) select $1, unnest($2::bytea[])',
    [userId, codes.map(recoveryHash)],
    () => ({
      action: 'user.renew_recovery_codes',
      subject: { kind: 'User', id: userId },
      organizationId: null,
      before: null,
      after: { count: codes.length },
    }),
  )
  return codes
}

async function acceptRecoveryCode(client: ScopedClient, userId: string, code: string): Promise<boolean> {
  const used = await client.change(
    'update recovery_codes set used_at = now() where user_id = $1 and code_hash = $2 and used_at is null returning used_at',
    [userId, recoveryHash(code)],
    () => ({
      action: 'user.use_recovery_code',
      subject: { kind: 'User', id: userId },
      organizationId: null,
      before: null,
      after: null,
    }),
  )
  return used.length === 1
}
