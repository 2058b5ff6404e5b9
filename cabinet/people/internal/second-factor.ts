import { randomBytes } from 'node:crypto'
import { generateSecret, generateURI, verifySync } from 'otplib'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { KeyList } from '#core/process/key-list'
import { hashToken } from '../session-store.ts'
import { base32 } from './base32.ts'
import type { SecondFactor } from './fields.ts'
import { openTotpSecret, sealTotpSecret } from './totp-seal.ts'

/** RFC 6238's step. The previous and the next step are also accepted, for clock skew. */
const stepS = 30

const recoveryCodeCount = 10
/** 80 bits each, so that a plain hash reveals nothing. */
const recoveryCodeBytes = 10

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
  const secret = generateSecret()
  const { rowCount } = await client.withoutAudit(
    'part of a change of the second factor, which is audited',
    'update users set totp_sealed = $2 where id = $1 and totp_enrolled_at is null',
    [userId, sealTotpSecret(secret, userId, sealingKeys)],
  )
  if (rowCount !== 1) return undefined
  return { secret, uri: otpauthUri(email, secret) }
}

/** The URI for authenticator apps. */
export function otpauthUri(email: string, secret: string): string {
  return generateURI({ issuer: 'Model Gateway', label: email, secret })
}

/** Activates a second factor whose secret the user already has. */
export async function putFactor(
  client: ScopedClient,
  userId: string,
  secret: string,
  sealingKeys: KeyList<Uint8Array>,
): Promise<void> {
  await client.change(
    'update users set totp_sealed = $2, totp_enrolled_at = now() where id = $1 and totp_enrolled_at is null returning id',
    [userId, sealTotpSecret(secret, userId, sealingKeys)],
    () => totpChange(userId, true),
  )
}

/** Whether a user's second factor is active and has this secret. */
export async function hasFactor(
  client: Queryable,
  userId: string,
  secret: string,
  sealingKeys: KeyList<Uint8Array>,
): Promise<boolean> {
  const found = await findFactor(client, userId)
  return found !== undefined && openTotpSecret(found.sealed, userId, sealingKeys) === secret
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
  const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode)
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
      after: { count: recoveryCodeCount },
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

/** Four groups of four. */
function newRecoveryCode(): string {
  return (base32(randomBytes(recoveryCodeBytes)).match(/.{4}/g) ?? []).join('-')
}

/** Ignores how the user typed it. */
function recoveryHash(code: string): Buffer {
  return hashToken(code.toLowerCase().replace(/[^0-9a-z]/g, ''))
}

/** The time step of a code, if it is one of the three valid now. */
function readCode(userId: string, sealed: string, code: string, sealingKeys: KeyList<Uint8Array>) {
  const secret = openTotpSecret(sealed, userId, sealingKeys)
  if (secret === undefined)
    throw new Error(
      `the second factor of user ${userId} cannot be decrypted with any key of CABINET_SEALING_KEY`,
    )
  const epoch = Math.floor(Date.now() / 1000)
  const verified = verifySync({ secret, token: code, epoch, epochTolerance: stepS })
  return { secret, step: verified.valid ? Math.floor(epoch / stepS) + verified.delta : undefined }
}

/** Encrypts with the first key, so that older keys can be removed later. */
function resealed(userId: string, sealed: string, secret: string, sealingKeys: KeyList<Uint8Array>): string {
  const isOfFirstKey = openTotpSecret(sealed, userId, [sealingKeys[0]]) !== undefined
  return isOfFirstKey ? sealed : sealTotpSecret(secret, userId, sealingKeys)
}
