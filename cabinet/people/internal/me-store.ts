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
  /** The last chosen first. */
  readonly organizations: readonly {
    readonly id: string
    readonly name: string
    readonly displayName: string | null
    readonly role: MemberRole
  }[]
}

/**
 * Requires the platform's scope, because the organizations are only known after this query.
 *
 * @param named the organization that the call names.
 * @throws Error if the user does not exist.
 */
export async function readProfile(
  client: Queryable,
  userId: string,
  named: string | undefined,
): Promise<Omit<z.output<(typeof readMe.answers)[200]>, 'outdated_consents'>> {
  const { rows } = await client.query<ProfileRow>(
    `select u.id, u.email, u.locale, u.email_confirmed_at is not null as "isConfirmed",
            u.totp_enrolled_at is not null as "hasTotp",
            (select count(*)::int from recovery_codes where user_id = u.id and used_at is null) as "recoveryCodesLeft",
            u.accepted_offer_at as "acceptedOfferAt", u.accepted_pdn_at as "acceptedPdnAt",
            coalesce((select jsonb_agg(jsonb_build_object('id', o.id, 'name', o.name, 'displayName', o.display_name,
                                                          'role', m.role)
                                       order by m.chosen_at desc nulls last, m.created_at, o.id)
                        from memberships m join organizations o on o.id = m.organization_id
                       where m.user_id = u.id), '[]') as organizations
       from users u
      where u.id = $1`,
    [userId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`user ${userId} has a session, but no row`)
  const organizations = row.organizations.map(({ id, name, displayName, role }) => ({
    id,
    name,
    display_name: displayName,
    role,
    rights: [...rightsOf[role]],
  }))
  return {
    id: row.id,
    email: row.email,
    locale: row.locale,
    is_confirmed: row.isConfirmed,
    has_totp: row.hasTotp,
    recovery_codes_left: row.recoveryCodesLeft,
    accepted_offer_at: row.acceptedOfferAt.toISOString(),
    accepted_pdn_at: row.acceptedPdnAt.toISOString(),
    organization:
      named === undefined
        ? (organizations[0] ?? null)
        : (organizations.find(({ id }) => id === named.toLowerCase()) ?? null),
    organizations,
  }
}

/** Notes the organization that new browser tabs open. Returns whether the user is a member of it. */
export async function chooseOrganization(
  client: ScopedClient,
  userId: string,
  organizationId: string,
): Promise<boolean> {
  const { rowCount } = await client.withoutAudit(
    'a preference that grants nothing',
    'update memberships set chosen_at = clock_timestamp() where user_id = $1 and organization_id = $2',
    [userId, organizationId],
  )
  return rowCount === 1
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
