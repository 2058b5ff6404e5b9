import type { Person } from '../api/access.ts'
import type { Visit } from '../api/endpoint.ts'
import type { Place } from './attempts.ts'
import type { Lane } from './password.ts'

/** The origin of a sign-in attempt on an account. `undefined`: the account does not exist. */
export function placeOfVisit({ device, work }: Visit, id: string | undefined): Place {
  const isKnown = device !== undefined && id !== undefined && device.userIds.includes(id)
  return { known: isKnown ? device.id : undefined, work }
}

/** The place of a full session, which is always known. */
export function placeOfSession({ sessionId }: Person): Place {
  return { known: sessionId, work: 0 }
}

/** The priority lane for password hashing. */
export function laneOf({ known, work }: Place): Lane {
  if (known !== undefined) return 'known'
  return work > 0 ? 'proven' : 'open'
}
