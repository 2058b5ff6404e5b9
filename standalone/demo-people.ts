import type { Pool } from 'pg'
import { inScope } from '#cabinet/audit/scope'
import { makePerson, type PersonToMake } from '#cabinet/people/made-person'
import type { Secrets } from './secrets.ts'

/** How somebody signs in to the cabinet. */
type SignIn = {
  readonly email: string
  /** `undefined`: changed since it was made here. */
  readonly password: string | undefined
}

/** The two people of the demo: an owner of its organization, and an administrator. */
export type DemoPeople = {
  readonly user: SignIn
  readonly administrator: SignIn & {
    /** Base32; `undefined`: changed since it was made here. */
    readonly totpSecret: string | undefined
  }
}

const command = 'npm start'
const userEmail = 'demo@example.com'
const administratorEmail = 'admin@example.com'

/** Makes both at the first start; their passwords are the data folder's. */
export async function readOrMakeDemoPeople(
  pool: Pool,
  organizationId: string,
  { demoPassword, adminPassword, adminTotpSecret, cabinetSealingKey }: Secrets,
): Promise<DemoPeople> {
  const sealingKeys = [Buffer.from(cabinetSealingKey, 'base64')] as const
  const user = { email: userEmail, password: demoPassword, organizationId, command }
  const administrator = {
    ...{ email: administratorEmail, password: adminPassword, command },
    administrator: { totpSecret: adminTotpSecret, sealingKeys },
  }
  const isUserAsMade = await make(pool, user)
  const isAdministratorAsMade = await make(pool, administrator)
  return {
    user: { email: userEmail, password: isUserAsMade ? demoPassword : undefined },
    administrator: {
      email: administratorEmail,
      password: isAdministratorAsMade ? adminPassword : undefined,
      totpSecret: isAdministratorAsMade ? adminTotpSecret : undefined,
    },
  }
}

function make(pool: Pool, person: PersonToMake): Promise<boolean> {
  const scope = { actor: { kind: 'command', name: command }, organizationId: null } as const
  return inScope(pool, scope, (client) => makePerson(client, person))
}
