import type { Person } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'
import type { Place } from './attempts.ts'
import type { Lane } from './password.ts'

/** Where somebody tries to sign in as this user from. `undefined`: no such user. */
export function placeOfVisit({ device, work }: Visit, userId: string | undefined): Place {
  const isKnown = device !== undefined && userId !== undefined && device.userIds.includes(userId)
  return { known: isKnown ? device.id : undefined, work }
}

/** Of a session that has proven everything: by itself it is enough to be known. */
export function placeOfSession({ sessionId }: Person): Place {
  return { known: sessionId, work: 0 }
}

/** Who goes first where passwords are hashed. */
export function laneOf({ known, work }: Place, role?: Person['role']): Lane {
  if (known !== undefined) return role === 'admin' ? 'administrator' : 'known'
  return work > 0 ? 'proven' : 'open'
}
