import type { Problem } from '../../api/problem.ts'
import type { Place } from './attempts.ts'
import { evenly } from './evenly.ts'
import type { PeopleParts } from './people-parts.ts'
import { laneOf } from './place.ts'
import { busy, refused } from './problems.ts'
import { noteRefusedSignIn } from './sign-in-audit.ts'
import { findUserByEmail, type User } from './user-store.ts'

/** Longer than writing an audit log row, which only known addresses get. */
const noteMsMin = 50

/**
 * The user with this address and password, or a problem. An unknown address, a wrong password and a blocked user get
 * the same response after the same work.
 *
 * `isOutdated`: the password should be hashed again.
 */
export async function checkPassword(
  { pool, passwords, passwordAttempts }: Pick<PeopleParts, 'pool' | 'passwords' | 'passwordAttempts'>,
  {
    email,
    password,
    requestId,
    placeOf,
  }: {
    readonly email: string
    readonly password: string
    readonly requestId: string
    readonly placeOf: (userId: string | undefined) => Place
  },
): Promise<{ readonly user: User; readonly isOutdated: boolean } | { readonly problem: Problem }> {
  const user = await findUserByEmail(pool, email)
  const place = placeOf(user?.id)
  const problem = await passwordAttempts.begin(email, place)
  if (problem !== undefined) return { problem }
  const lane = laneOf(place, user?.role)
  const checked = await passwords.check(password, user?.passwordHash, lane)
  if (checked === 'busy') return busy(lane)
  if (user === undefined || !checked.fits || user.isBlocked) {
    const why = checked.fits ? 'blocked' : 'password'
    await evenly(noteMsMin, async () => {
      if (user !== undefined) await noteRefusedSignIn(pool, user.id, why, requestId)
    })
    return refused.credentials
  }
  await passwordAttempts.forget(email, place.known)
  return { user, isOutdated: checked.isOutdated }
}
