import type { Person } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'
import type { Place } from './attempts.ts'
import type { Lane } from './password.ts'

/** The origin of a sign-in attempt for a user. `undefined`: the user does not exist. */
export function placeOfVisit({ device, work }: Visit, userId: string | undefined): Place {
  const isKnown = device !== undefined && userId !== undefined && device.userIds.includes(userId)
  return { known: isKnown ? device.id : undefined, work }
}

/** The place of a full session, which is always known. */
export function placeOfSession({ sessionId }: Person): Place {
  return { known: sessionId, work: 0 }
}

/** The priority lane for password hashing. */
export function laneOf({ known, work }: Place, role?: Person['role']): Lane {
  if (known !== undefined) return role === 'admin' ? 'administrator' : 'known'
  return work > 0 ? 'proven' : 'open'
}
