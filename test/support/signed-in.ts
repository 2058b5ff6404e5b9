import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { hashToken } from '#cabinet/people/session-store'
import { createOrganization } from '#core/organizations/organization-store'
import { inTestScope } from './scope.ts'

/** A user; by default an owner with a confirmed address and no second factor. */
type SignedInFields = {
  readonly role?: 'user' | 'admin'
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
  const { role = 'user', memberRole = 'owner', isConfirmed = true, mfaAt = null, hasTotp = false } = fields
  const [userId, token] = [randomUUID(), randomBytes(32).toString('base64url')]
  const organizationId = fields.organizationId ?? (await makeOrganization(pool))
  await pool.query(
    `insert into users (id, email, locale, role, password_hash, accepted_offer_at, accepted_pdn_at,
                        email_confirmed_at, totp_sealed, totp_enrolled_at)
     values ($1, $2, 'en', $3, '!', now(), now(), case when $4 then now() end,
             case when $5 then 'not sealed' end, case when $5 then now() end)`,
    [userId, `${userId}@example.com`, role, isConfirmed, hasTotp],
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

async function makeOrganization(pool: Pool): Promise<string> {
  const name = `org-${randomBytes(6).toString('hex')}`
  const { id } = await inTestScope(pool, (client) => createOrganization(client, name))
  return id
}
