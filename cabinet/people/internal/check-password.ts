import type { Visit } from '../../api/endpoint.ts'
import type { Problem } from '../../api/problem.ts'
import type { Place } from '../attempts.ts'
import { checkAccountPassword } from '../password-check.ts'
import type { PeopleParts } from './people-parts.ts'
import { noteRefusedSignIn } from './sign-in-audit.ts'
import { findUserByEmail, type User } from './user-store.ts'

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
