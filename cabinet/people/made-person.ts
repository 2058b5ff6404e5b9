import { randomUUID } from 'node:crypto'
import { generateSecret, generateSync } from 'otplib'
import type { ScopedClient } from '#core/audit/scope'
import type { KeyList } from '#core/process/key-list'
import { createVouchedUser, promote } from './internal/administrators.ts'
import { createPasswords } from './internal/password.ts'
import { hasFactor, otpauthUri, putFactor } from './internal/second-factor.ts'
import { findUserByEmail, type User } from './internal/user-store.ts'

/** A seeded user, created by a command that vouches for the address. */
export type PersonToMake = {
  readonly email: string
  readonly password: string
  /** The organization to own; otherwise a new one. */
  readonly organizationId?: string
  /** Makes the user an administrator with an active second factor. */
  readonly administrator?: { readonly totpSecret: string; readonly sealingKeys: KeyList<Uint8Array> }
  /** Recorded as having agreed to both documents in the user's name. */
  readonly command: string
}

/**
 * Seeds a user with a confirmed address and a password, without a trial. If the address is known, nothing changes.
 * Requires the permissions of the database owner, which no process of a cluster has.
 *
 * Returns whether password and second factor are those given here. An existing user may have changed them.
 */
export async function makePerson(client: ScopedClient, person: PersonToMake): Promise<boolean> {
  const known = await findUserByEmail(client, person.email)
  if (known !== undefined) return isAsGiven(client, known, person)
  const { email, administrator, organizationId } = person
  const passwordHash = await createPasswords().hash(person.password, 'known')
  const id = randomUUID()
  await createVouchedUser(client, { id, email, passwordHash, locale: 'ru', organizationId }, person.command)
  if (administrator === undefined) return true
  await promote(client, id)
  await putFactor(client, id, administrator.totpSecret, administrator.sealingKeys)
  return true
}

async function isAsGiven(
  client: ScopedClient,
  { id, passwordHash }: User,
  { password, administrator }: PersonToMake,
): Promise<boolean> {
  const checked = await createPasswords().check(password, passwordHash, 'known')
  if (checked === 'busy' || !checked.fits) return false
  if (administrator === undefined) return true
  return hasFactor(client, id, administrator.totpSecret, administrator.sealingKeys)
}

/** A secret for a second factor, in base32. */
export function newTotpSecret(): string {
  return generateSecret()
}

/** A second factor's URI for authenticator apps, and its current code. */
export function showSecondFactor(
  email: string,
  totpSecret: string,
): { readonly uri: string; readonly code: string } {
  return { uri: otpauthUri(email, totpSecret), code: generateSync({ secret: totpSecret }) }
}
