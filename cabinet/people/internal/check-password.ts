import type { Person } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'
import type { Problem } from '../../api/problem.ts'
import type { Place } from '../attempts.ts'
import { checkAccountPassword } from '../password-check.ts'
import { placeOfSession } from '../place.ts'
import type { PeopleParts } from './people-parts.ts'
import { noteRefusedSignIn } from './sign-in-audit.ts'
import { findUserByEmail, type User } from './user-store.ts'

/** The password of a signed-in user, asked for again before a change that a borrowed browser must not make. */
export function checkOwnPassword(
  parts: Pick<PeopleParts, 'pool' | 'passwords' | 'passwordAttempts'>,
  caller: Person,
  password: string,
  visit: Visit,
) {
  const placeOf = () => placeOfSession(caller)
  return checkPassword(parts, { email: caller.email, password, visit, placeOf })
}

/** The user with this address and password, or a problem (`checkAccountPassword`). */
export async function checkPassword(
  parts: Pick<PeopleParts, 'pool' | 'passwords' | 'passwordAttempts'>,
  {
    email,
    password,
    visit,
    placeOf,
  }: {
    readonly email: string
    readonly password: string
    readonly visit: Visit
    readonly placeOf: (userId: string | undefined) => Place
  },
): Promise<{ readonly user: User; readonly isOutdated: boolean } | { readonly problem: Problem }> {
  const found = await findUserByEmail(parts.pool, email)
  const checked = await checkAccountPassword(parts, {
    found,
    password,
    attemptsName: email,
    place: placeOf(found?.id),
    noteRefused: (userId, why) => noteRefusedSignIn(parts.pool, userId, why, visit),
  })
  return 'problem' in checked ? checked : { user: checked.account, isOutdated: checked.isOutdated }
}
