import type { Pool } from 'pg'
import { seedAdministrator } from '#cabinet/administrators/made-administrator'
import { makePerson } from '#cabinet/people/made-person'
import { inScope, type ScopedClient } from '#core/audit/scope'
import type { Secrets } from './secrets.ts'

/** A sign-in to the cabinet, or to administration. */
type SignIn = {
  readonly email: string
  /** `undefined`: changed since the user was seeded. */
  readonly password: string | undefined
}

/** The seeded accounts: the organization's owner, and an administrator. */
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

/** Seeds both on the first start. Their passwords are in the data folder. */
export async function readOrMakeDemoPeople(
  pool: Pool,
  organizationId: string,
  { demoPassword, adminPassword, adminTotpSecret, administrationSealingKey }: Secrets,
): Promise<DemoPeople> {
  const make = (work: (client: ScopedClient) => Promise<boolean>) =>
    inScope(pool, { actor: { kind: 'command', name: command }, organizationId: null }, work)
  const isUserAsMade = await make((client) =>
    makePerson(client, { email: userEmail, password: demoPassword, organizationId, command }),
  )
  const isAdministratorAsMade = await make((client) =>
    seedAdministrator(client, {
      email: administratorEmail,
      password: adminPassword,
      totpSecret: adminTotpSecret,
      sealingKeys: [Buffer.from(administrationSealingKey, 'base64')],
    }),
  )
  return {
    user: { email: userEmail, password: isUserAsMade ? demoPassword : undefined },
    administrator: {
      email: administratorEmail,
      password: isAdministratorAsMade ? adminPassword : undefined,
      totpSecret: isAdministratorAsMade ? adminTotpSecret : undefined,
    },
  }
}
