import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import { findUserByEmail, type User } from './internal/user-store.ts'
import { createVouchedUser } from './internal/vouched-user.ts'
import { createPasswords } from './password.ts'

/** A seeded user, created by a command that vouches for the address. */
type PersonToMake = {
  readonly email: string
  readonly password: string
  /** The organization to own; otherwise a new one. */
  readonly organizationId?: string
  /** Recorded as having agreed to both documents in the user's name. */
  readonly command: string
}

/**
 * Seeds a user with a confirmed address and a password, without a trial. If the address is known, nothing changes.
 * Requires the permissions of the database owner, which no process of a cluster has.
 *
 * Returns whether the password is the one given here. An existing user may have changed it.
 */
export async function makePerson(client: ScopedClient, person: PersonToMake): Promise<boolean> {
  const known = await findUserByEmail(client, person.email)
  if (known !== undefined) return isAsGiven(known, person)
  const { email, organizationId } = person
  const passwordHash = await createPasswords().hash(person.password, 'known')
  const id = randomUUID()
  await createVouchedUser(client, { id, email, passwordHash, locale: 'ru', organizationId }, person.command)
  return true
}

async function isAsGiven({ passwordHash }: User, { password }: PersonToMake): Promise<boolean> {
  const checked = await createPasswords().check(password, passwordHash, 'known')
  return checked !== 'busy' && checked.fits
}
