import { inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import type { Person } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'
import type { Problem } from '../../api/problem.ts'
import { placeOfSession } from '../place.ts'
import { refused } from '../problems.ts'
import type { PeopleParts } from './people-parts.ts'
import { noteRefusedSignIn } from './sign-in-audit.ts'

/** Does `work` in one transaction if the code is valid, unless there were too many attempts. */
export async function withCode<const Answer extends object>(
  { pool, codeAttempts }: PeopleParts,
  caller: Person,
  visit: Visit,
  work: (client: ScopedClient) => Promise<Answer>,
): Promise<Answer | { readonly problem: Problem }> {
  const place = placeOfSession(caller)
  const problem = await codeAttempts.begin(caller.userId, place)
  if (problem !== undefined) return { problem }
  const answer = await inScope(pool, scopeOf(caller, visit), work)
  if (answer === refused.code) await noteRefusedSignIn(pool, caller.userId, 'code', visit)
  else await codeAttempts.forget(caller.userId, place.known)
  return answer
}

/** The scope of a user's changes to their own account. */
export function scopeOf({ userId }: Person, visit: Visit) {
  return scopeOfPerson(userId, null, visit)
}
