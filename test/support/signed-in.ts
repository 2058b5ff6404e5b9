import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { hashToken } from '#cabinet/people/session-store'
import { createOrganization } from '#core/organizations/organization-store'
import { inTestScope } from './scope.ts'

/** A user; by default an owner with a confirmed address and no second factor. */
type SignedInFields = {
  readonly memberRole?: 'owner' | 'developer' | 'accountant'
  readonly isConfirmed?: boolean
  /** Of an organization that is there; otherwise one is made. */
  readonly organizationId?: string
  readonly mfaAt?: Date | null
  readonly hasTotp?: boolean
}

/**
 * A user who is signed in, written straight into the database: user, organization, membership and session.
 */
export async function signedIn(
  pool: Pool,
  fields: SignedInFields = {},
): Promise<{ readonly userId: string; readonly organizationId: string; readonly cookie: string }> {
  const { memberRole = 'owner', isConfirmed = true, mfaAt = null, hasTotp = false } = fields
  const [userId, token] = [randomUUID(), randomBytes(32).toString('base64url')]
  const organizationId = fields.organizationId ?? (await makeOrganization(pool))
  await pool.query(
    `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at,
                        email_confirmed_at, totp_sealed, totp_enrolled_at)
     values ($1, $2, 'en', '!', now(), now(), case when $3 then now() end,
             case when $4 then 'not sealed' end, case when $4 then now() end)`,
    [userId, `${userId}@example.com`, isConfirmed, hasTotp],
  )
  await pool.query('insert into memberships (organization_id, user_id, role) values ($1, $2, $3)', [
    organizationId,
    userId,
    memberRole,
  ])
  await pool.query(
    `insert into sessions (id, token_hash, user_id, stage, mfa_at, expires_at, address, agent)
     values ($1, $2, $3, 'complete', $4, now() + interval '1 day', '127.0.0.1', 'test')`,
    [randomUUID(), hashToken(token), userId, mfaAt],
  )
  return { userId, organizationId, cookie: `__Host-model_gateway_session=${token}` }
}

/** An administrator who is signed in to administration, and entered a code at `mfaAt`. */
export async function signedInAdministrator(
  pool: Pool,
  { mfaAt = new Date(), email }: { readonly mfaAt?: Date; readonly email?: string } = {},
): Promise<{ readonly administratorId: string; readonly cookie: string }> {
  const [administratorId, token] = [randomUUID(), randomBytes(32).toString('base64url')]
  await pool.query(
    "insert into administrators (id, email, password_hash, totp_sealed) values ($1, $2, '!', 'not sealed')",
    [administratorId, email ?? `${administratorId}@example.com`],
  )
  await pool.query(
    `insert into administrator_sessions (id, token_hash, administrator_id, mfa_at, expires_at, address, agent)
     values ($1, $2, $3, $4, now() + interval '12 hours', '127.0.0.1', 'test')`,
    [randomUUID(), hashToken(token), administratorId, mfaAt],
  )
  return { administratorId, cookie: `__Host-model_gateway_administration=${token}` }
}

async function makeOrganization(pool: Pool): Promise<string> {
  const name = `org-${randomBytes(6).toString('hex')}`
  const { id } = await inTestScope(pool, (client) => createOrganization(client, name))
  return id
}
