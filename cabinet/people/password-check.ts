import type { Problem } from '../api/problem.ts'
import type { Attempts, Place } from './attempts.ts'
import { evenly } from './internal/evenly.ts'
import type { Passwords } from './password.ts'
import { laneOf } from './place.ts'
import { busy, refused } from './problems.ts'

/** Longer than writing an audit log row, which only known addresses get. */
const noteMsMin = 50

/** An account with a password; `undefined`: it has none yet. */
type Account = {
  readonly id: string
  readonly passwordHash: string | undefined
  readonly isBlocked: boolean
}

type Check<Found> = {
  /** `undefined`: no account has this address. */
  readonly found: Found | undefined
  readonly password: string
  /** Name under which attempts are counted. */
  readonly attemptsName: string
  readonly place: Place
  /** Audits a rejection. The caller is not proven to own the account. */
  readonly noteRefused: (id: string, why: 'password' | 'blocked') => Promise<void>
}

/**
 * The account with its password hash if the password fits, or a problem. An unknown address, a wrong password, an
 * account without a password and a blocked one get the same response after the same work.
 *
 * `isOutdated`: the password should be hashed again.
 */
export async function checkAccountPassword<const Found extends Account>(
  { passwords, passwordAttempts }: { readonly passwords: Passwords; readonly passwordAttempts: Attempts },
  { found, password, attemptsName, place, noteRefused }: Check<Found>,
): Promise<
  | { readonly account: Found & { readonly passwordHash: string }; readonly isOutdated: boolean }
  | { readonly problem: Problem }
> {
  const problem = await passwordAttempts.begin(attemptsName, place)
  if (problem !== undefined) return { problem }
  const lane = laneOf(place)
  const passwordHash = found?.passwordHash
  const checked = await passwords.check(password, passwordHash, lane)
  if (checked === 'busy') return busy(lane)
  if (found === undefined || passwordHash === undefined || !checked.fits || found.isBlocked) {
    const why = checked.fits ? 'blocked' : 'password'
    await evenly(noteMsMin, async () => {
      if (found !== undefined) await noteRefused(found.id, why)
    })
    return refused.credentials
  }
  await passwordAttempts.forget(attemptsName, place.known)
  return { account: { ...found, passwordHash }, isOutdated: checked.isOutdated }
}
