import type { Pool } from 'pg'
import { makePerson, type PersonToMake } from '#cabinet/people/made-person'
import { inScope } from '#core/audit/scope'
import type { Secrets } from './secrets.ts'

/** A user's sign-in to the cabinet. */
type SignIn = {
  readonly email: string
  /** `undefined`: changed since the user was seeded. */
  readonly password: string | undefined
}

/** The two seeded users: the organization's owner, and an administrator. */
export type DemoPeople = {
  readonly user: SignIn
  readonly administrator: SignIn & {
    /** Base32; `undefined`: changed since the user was seeded. */
    readonly totpSecret: string | undefined
  }
}

const command = 'npm start'
const userEmail = 'demo@example.com'
const administratorEmail = 'admin@example.com'

/** Seeds both users on the first start. Their passwords are in the data folder. */
export async function readOrMakeDemoPeople(
  pool: Pool,
  organizationId: string,
  { demoPassword, adminPassword, adminTotpSecret, cabinetSealingKey }: Secrets,
): Promise<DemoPeople> {
  const sealingKeys = [Buffer.from(cabinetSealingKey, 'base64')] as const
  const user = { email: userEmail, password: demoPassword, organizationId, command }
  const administrator = {
    email: administratorEmail,
    password: adminPassword,
    command,
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
