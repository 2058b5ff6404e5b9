import type { ScopedClient } from '#core/audit/scope'
import type { KeyList } from '#core/process/key-list'
import type { SecondFactor } from '../../people/fields.ts'
import { newRecoveryCodes, readCode, recoveryHash, resealed } from '../../people/totp-code.ts'
import { changeOf } from './administrator-store.ts'

/** Accepts a code of the second factor or a recovery code, once. Returns whether it was valid. */
export function acceptFactor(
  client: ScopedClient,
  administratorId: string,
  { code, recovery_code }: SecondFactor,
  sealingKeys: KeyList<Uint8Array>,
): Promise<boolean> {
  if (code !== undefined) return acceptCode(client, administratorId, code, sealingKeys)
  return acceptRecoveryCode(client, administratorId, recovery_code ?? '')
}

/** Accepts a code. No step is accepted twice, and no earlier step after a later one. */
export async function acceptCode(
  client: ScopedClient,
  administratorId: string,
  code: string,
  sealingKeys: KeyList<Uint8Array>,
): Promise<boolean> {
  const { rows } = await client.query<{ sealed: string }>(
    'select totp_sealed as sealed from administrators where id = $1 and totp_sealed is not null',
    [administratorId],
  )
  const [found] = rows
  if (found === undefined) return false
  const { sealed } = found
  const { secret, step } = readCode(administratorId, sealed, code, sealingKeys)
  if (step === undefined) return false
  const { rowCount } = await client.withoutAudit(
    'what the code allows is audited',
    `update administrators set totp_last_step = $2, totp_sealed = $4
      where id = $1 and totp_last_step < $2 and totp_sealed = $3`,
    [administratorId, step, sealed, resealed(administratorId, sealed, secret, sealingKeys)],
  )
  return rowCount === 1
}

async function acceptRecoveryCode(
  client: ScopedClient,
  administratorId: string,
  code: string,
): Promise<boolean> {
  const used = await client.change(
    `update administrator_recovery_codes set used_at = now()
      where administrator_id = $1 and code_hash = $2 and used_at is null returning used_at`,
    [administratorId, recoveryHash(code)],
    () => changeOf('use_recovery_code', administratorId, null, null),
  )
  return used.length === 1
}

/** Replaces the recovery codes with ten new ones, which are shown once. */
export async function renewRecoveryCodes(client: ScopedClient, administratorId: string): Promise<string[]> {
  const codes = newRecoveryCodes()
  await client.withoutAudit(
    'part of a change of the recovery codes, which is audited',
    'delete from administrator_recovery_codes where administrator_id = $1',
    [administratorId],
  )
  await client.change(
    'insert into administrator_recovery_codes (administrator_id, code_hash) select $1, unnest($2::bytea[])',
    [administratorId, codes.map(recoveryHash)],
    () => changeOf('renew_recovery_codes', administratorId, null, { count: codes.length }),
  )
  return codes
}
