import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { createOrganization } from '#cabinet/organizations/organization-store'
import { hashToken } from '#cabinet/people/session-store'
import { inTestScope } from './scope.ts'

/** Somebody who has signed in, as the database has it, and the cookie of the session; in a new organization unless said. */
export async function signedIn(
  pool: Pool,
  fields: {
    readonly role?: 'user' | 'admin'
    readonly memberRole?: 'owner' | 'developer' | 'accountant'
    readonly isConfirmed?: boolean
    readonly organizationId?: string
    readonly mfaAt?: Date | null
    readonly hasTotp?: boolean
  } = {},
): Promise<{ readonly userId: string; readonly organizationId: string; readonly cookie: string }> {
  const { role = 'user', memberRole = 'owner', isConfirmed = true, mfaAt = null, hasTotp = false } = fields
  const userId = randomUUID()
  const organizationId = fields.organizationId ?? (await createOrganizationOfTest(pool))
  await pool.query(
    `insert into users (id, email, locale, role, password_hash, accepted_offer_at, accepted_pdn_at,
                        email_confirmed_at, totp_sealed, totp_enrolled_at)
     values ($1, $2, 'en', $3, 'none', now(), now(), case when $4 then now() end,
             case when $5 then 'none' end, case when $5 then now() end)`,
    [userId, `${userId}@example.test`, role, isConfirmed, hasTotp],
  )
  await pool.query('insert into memberships (organization_id, user_id, role) values ($1, $2, $3)', [
    ...[organizationId, userId, memberRole],
  ])
  const token = randomBytes(32).toString('base64url')
  await pool.query(
    `insert into sessions (id, token_hash, user_id, stage, mfa_at, expires_at, address, agent)
     values ($1, $2, $3, 'complete', $4, now() + interval '1 hour', '127.0.0.1', 'test')`,
    [randomUUID(), hashToken(token), userId, mfaAt],
  )
  return { userId, organizationId, cookie: `__Host-model_gateway_session=${token}` }
}

async function createOrganizationOfTest(pool: Pool): Promise<string> {
  const { id } = await inTestScope(pool, (client) =>
    createOrganization(client, `org-${randomBytes(6).toString('hex')}`),
  )
  return id
}
