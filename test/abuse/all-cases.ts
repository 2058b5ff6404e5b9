import type { AbuseCase } from './abuse-case.ts'
import { abandonedAnswers } from './cases/abandoned-answers.ts'
import { ambiguousRequests } from './cases/ambiguous-requests.ts'
import { credentialInContent } from './cases/credential-in-content.ts'
import { echoedCredential } from './cases/echoed-credential.ts'
import { endlessEvent } from './cases/endless-event.ts'
import { freeContent } from './cases/free-content.ts'
import { halfClosed } from './cases/half-closed.ts'
import { idleBodies } from './cases/idle-bodies.ts'
import { leavingAtLastWord } from './cases/leaving-at-last-word.ts'
import { madeUpKeys } from './cases/made-up-keys.ts'
import { manyConnections } from './cases/many-connections.ts'
import { nestedJson } from './cases/nested-json.ts'
import { oneOrganization } from './cases/one-organization.ts'
import { overdraft } from './cases/overdraft.ts'
import { refusedLargeBodies } from './cases/refused-large-bodies.ts'
import { revokedKey } from './cases/revoked-key.ts'

/** All attacks. Each file describes its attack. */
export const cases: readonly AbuseCase[] = [
  madeUpKeys,
  revokedKey,
  idleBodies,
  oneOrganization,
  refusedLargeBodies,
  manyConnections,
  ambiguousRequests,
  halfClosed,
  overdraft,
  ...freeContent,
  abandonedAnswers,
  leavingAtLastWord,
  nestedJson,
  endlessEvent,
  echoedCredential,
  credentialInContent,
]
