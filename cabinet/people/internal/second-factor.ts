import { randomBytes } from 'node:crypto'
import { generateSecret, generateURI, verifySync } from 'otplib'
import type { ScopedClient } from '../../audit/scope.ts'
import type { Queryable } from '../../db/pool.ts'
import type { KeyList } from '../../process/key-list.ts'
import { hashToken } from '../session-store.ts'
import { base32 } from './base32.ts'
import type { SecondFactor } from './fields.ts'
import { openTotpSecret, sealTotpSecret } from './totp-seal.ts'

/** RFC 6238's step; one before and one after now are accepted, for clocks that differ. */
const stepS = 30

const recoveryCodeCount = 10
/** 80 bits each, so that a plain hash of them says nothing. */
const recoveryCodeBytes = 10

/** Accepts a code of the second factor or a recovery code, once; answers whether it was good. */
export function acceptFactor(
  client: ScopedClient,
  userId: string,
  { code, recovery_code }: SecondFactor,
  sealingKeys: KeyList<Uint8Array>,
): Promise<boolean> {
  if (code !== undefined) return acceptCode(client, userId, code, sealingKeys)
  return acceptRecoveryCode(client, userId, recovery_code ?? '')
}

/** Accepts a code of a second factor that is on. No step is accepted twice, nor one before it. */
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
  const { rowCount } = await client.unaudited(
    `update users set totp_last_step = $2, totp_sealed = $4
      where id = $1 and totp_last_step < $2 and totp_sealed = $3 and totp_enrolled_at is not null`,
    [userId, step, found.sealed, resealed(userId, found.sealed, secret, sealingKeys)],
  )
  return rowCount === 1
}

/** Keeps a new secret, which counts once its first code was entered; `undefined`: a second factor is on already. */
export async function beginEnrolment(
  client: ScopedClient,
  { userId, email }: { readonly userId: string; readonly email: string },
  sealingKeys: KeyList<Uint8Array>,
): Promise<{ readonly secret: string; readonly uri: string } | undefined> {
  const secret = generateSecret()
  const { rowCount } = await client.unaudited(
    'update users set totp_sealed = $2 where id = $1 and totp_enrolled_at is null',
    [userId, sealTotpSecret(secret, userId, sealingKeys)],
  )
  if (rowCount !== 1) return undefined
  return { secret, uri: otpauthUri(email, secret) }
}

/** What an app for codes reads. */
export function otpauthUri(email: string, secret: string): string {
  return generateURI({ issuer: 'Model Gateway', label: email, secret })
}

/** Turns on a second factor whose secret its user knows already. */
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

/** Whether somebody's second factor is on, and is of this secret. */
export async function hasFactor(
  client: Queryable,
  userId: string,
  secret: string,
  sealingKeys: KeyList<Uint8Array>,
): Promise<boolean> {
  const found = await findFactor(client, userId)
  return found !== undefined && openTotpSecret(found.sealed, userId, sealingKeys) === secret
}

/** The sealed secret of a second factor that is on. */
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

/** Turns a second factor on with its first code. `none`: there is none to turn on. */
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

/** Turns a second factor off; its recovery codes end with it. The last step stays: no code of it is accepted again. */
export async function removeFactor(client: ScopedClient, userId: string): Promise<void> {
  await client.change(
    'update users set totp_enrolled_at = null, totp_sealed = null where id = $1 and totp_enrolled_at is not null returning id',
    [userId],
    () => totpChange(userId, false),
  )
  await client.unaudited('delete from recovery_codes where user_id = $1', [userId])
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

/** Ten new recovery codes in place of those that there were; shown once. */
export async function renewRecoveryCodes(client: ScopedClient, userId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode)
  await client.unaudited('delete from recovery_codes where user_id = $1', [userId])
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

/** However it was typed. */
function recoveryHash(code: string): Buffer {
  return hashToken(code.toLowerCase().replace(/[^0-9a-z]/g, ''))
}

/** The time step of a code, if it is one of the three that are good now. */
function readCode(userId: string, sealed: string, code: string, sealingKeys: KeyList<Uint8Array>) {
  const secret = openTotpSecret(sealed, userId, sealingKeys)
  if (secret === undefined)
    throw new Error(
      `the second factor of user ${userId} cannot be opened with any key of CABINET_SEALING_KEY`,
    )
  const epoch = Math.floor(Date.now() / 1000)
  const verified = verifySync({ secret, token: code, epoch, epochTolerance: stepS })
  return { secret, step: verified.valid ? Math.floor(epoch / stepS) + verified.delta : undefined }
}

/** As the first key seals it, so that an older one can be dropped some day. */
function resealed(userId: string, sealed: string, secret: string, sealingKeys: KeyList<Uint8Array>): string {
  const isOfFirstKey = openTotpSecret(sealed, userId, [sealingKeys[0]]) !== undefined
  return isOfFirstKey ? sealed : sealTotpSecret(secret, userId, sealingKeys)
}
