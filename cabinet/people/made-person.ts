import { randomUUID } from 'node:crypto'
import { generateSecret, generateSync } from 'otplib'
import type { ScopedClient } from '../audit/scope.ts'
import type { KeyList } from '../process/key-list.ts'
import { createVouchedUser, promote } from './internal/administrators.ts'
import { createPasswords } from './internal/password.ts'
import { hasFactor, otpauthUri, putFactor } from './internal/second-factor.ts'
import { findUserByEmail, type User } from './internal/user-store.ts'

/** Somebody whom a command makes, and for whose address it vouches. */
export type PersonToMake = {
  readonly email: string
  readonly password: string
  /** Whose owner it becomes; otherwise of a new one. */
  readonly organizationId?: string
  /** Makes an administrator, whose second factor is on. */
  readonly administrator?: { readonly totpSecret: string; readonly sealingKeys: KeyList<Uint8Array> }
  /** Noted as what agreed to both documents in this person's name. */
  readonly command: string
}

/**
 * Makes somebody with a confirmed address and a password, without a trial, unless the address is known: then nothing
 * changes. Needs the rights of the owner of the database, which no process of a cluster has.
 *
 * Answers whether password and second factor are those given here: who was made earlier may have changed them.
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

/** What an app for codes reads of a second factor, and what such an app shows now. */
export function showSecondFactor(
  email: string,
  totpSecret: string,
): { readonly uri: string; readonly code: string } {
  return { uri: otpauthUri(email, totpSecret), code: generateSync({ secret: totpSecret }) }
}
