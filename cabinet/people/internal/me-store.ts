import type { z } from 'zod'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { type Locale, type MemberRole, rightsOf } from '../../api/access.ts'
import type { readMe } from '../me-contracts.ts'

type ProfileRow = {
  readonly id: string
  readonly email: string
  readonly locale: Locale
  readonly isConfirmed: boolean
  readonly hasTotp: boolean
  readonly recoveryCodesLeft: number
  readonly acceptedOfferAt: Date
  readonly acceptedPdnAt: Date
  readonly organizationId: string | null
  readonly organizationName: string | null
  readonly displayName: string | null
  readonly memberRole: MemberRole | null
}

/**
 * Requires the platform's scope, because the organization is only known after this query.
 * @throws Error if the user does not exist.
 */
export async function readProfile(
  client: Queryable,
  userId: string,
): Promise<Omit<z.output<(typeof readMe.answers)[200]>, 'outdated_consents'>> {
  const { rows } = await client.query<ProfileRow>(
    `select u.id, u.email, u.locale, u.email_confirmed_at is not null as "isConfirmed",
            u.totp_enrolled_at is not null as "hasTotp",
            (select count(*)::int from recovery_codes where user_id = u.id and used_at is null) as "recoveryCodesLeft",
            u.accepted_offer_at as "acceptedOfferAt", u.accepted_pdn_at as "acceptedPdnAt",
            m.organization_id as "organizationId", o.name as "organizationName", o.display_name as "displayName",
            m.role as "memberRole"
       from users u
       left join lateral (select * from memberships where user_id = u.id order by created_at limit 1) m on true
       left join organizations o on o.id = m.organization_id
      where u.id = $1`,
    [userId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`user ${userId} has a session, but no row`)
  const { organizationId, organizationName, displayName, memberRole } = row
  const hasOrganization = organizationId !== null && organizationName !== null && memberRole !== null
  return {
    id: row.id,
    email: row.email,
    locale: row.locale,
    is_confirmed: row.isConfirmed,
    has_totp: row.hasTotp,
    recovery_codes_left: row.recoveryCodesLeft,
    accepted_offer_at: row.acceptedOfferAt.toISOString(),
    accepted_pdn_at: row.acceptedPdnAt.toISOString(),
    organization: hasOrganization
      ? {
          id: organizationId,
          name: organizationName,
          display_name: displayName,
          role: memberRole,
          rights: [...rightsOf[memberRole]],
        }
      : null,
  }
}

/** Sets the language of emails. */
export async function chooseLocale(client: ScopedClient, userId: string, locale: Locale): Promise<void> {
  await client.change(
    'update users set locale = $2 where id = $1 and locale <> $2 returning id',
    [userId, locale],
    () => ({
      action: 'user.choose_locale',
      subject: { kind: 'User', id: userId },
      organizationId: null,
      before: null,
      after: { locale },
    }),
  )
}
