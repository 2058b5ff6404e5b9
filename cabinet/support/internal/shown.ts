import { formatRub, nanoRub } from '#core/ledger/money'
import type { AdminOrganization, AdminUser } from './admin-reads.ts'

/** A user as the API returns them. Pure. */
export function userOf({ id, email, locale, hasTotp, organizations, ...user }: AdminUser) {
  return {
    id,
    email,
    locale,
    organizations,
    email_confirmed_at: user.confirmedAt?.toISOString() ?? null,
    has_totp: hasTotp,
    blocked_at: user.blockedAt?.toISOString() ?? null,
    deleted_at: user.deletedAt?.toISOString() ?? null,
    active_key_count: user.activeKeyCount,
    created_at: user.createdAt.toISOString(),
  }
}

/** An organization as the API returns it. Pure. */
export function organizationOf({ id, name, displayName, balance, keyCount, ...times }: AdminOrganization) {
  return {
    id,
    name,
    display_name: displayName,
    key_count: keyCount,
    balance_rub: formatRub(nanoRub(balance)),
    blocked_at: times.blockedAt?.toISOString() ?? null,
    created_at: times.createdAt.toISOString(),
  }
}
