import type { z } from 'zod'
import type { Queryable } from '#core/db/pool'
import { formatRub, type NanoRub } from '#core/ledger/money'
import { type Locale, type MemberRole, rightsOf } from '../../api/access.ts'
import type { exportAccount } from '../account-export-contracts.ts'
import { listLiveSessions } from '../session-store.ts'
import { listPasskeys, shownPasskey } from './passkey-store.ts'

type Export = z.output<(typeof exportAccount.answers)[200]>

/** Of each organization. A response is written whole, so it must be bounded. */
const rowsMax = 10_000
/** A user is a member of far fewer organizations, and has far fewer consents. */
const listedMax = 1_000

/** All data of a user. Requires the platform's scope. @throws Error if the user does not exist */
export async function readAccount(
  client: Queryable,
  userId: string,
  { appUrl, now }: { readonly appUrl: string; readonly now: Date },
): Promise<Export> {
  return {
    exported_at: now.toISOString(),
    profile: await readPerson(client, userId),
    consents: await readConsentsWithPlaces(client, userId),
    sessions: await readSessions(client, userId),
    passkeys: (await listPasskeys(client, userId)).map(shownPasskey),
    organizations: await readOrganizations(client, userId, appUrl),
  }
}

type PersonRow = {
  readonly id: string
  readonly email: string
  readonly locale: Locale
  readonly createdAt: Date
  readonly confirmedAt: Date | null
  readonly enrolledAt: Date | null
}

async function readPerson(client: Queryable, userId: string): Promise<Export['profile']> {
  const { rows } = await client.query<PersonRow>(
    `select id, email, locale, created_at as "createdAt", email_confirmed_at as "confirmedAt",
            totp_enrolled_at as "enrolledAt" from users where id = $1`,
    [userId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`user ${userId} has a session, but no row`)
  return {
    id: row.id,
    email: row.email,
    locale: row.locale,
    created_at: row.createdAt.toISOString(),
    email_confirmed_at: timeOf(row.confirmedAt),
    second_factor_since: timeOf(row.enrolledAt),
  }
}

async function readConsentsWithPlaces(client: Queryable, userId: string): Promise<Export['consents']> {
  type Row = Omit<Export['consents'][number], 'at'> & { readonly at: Date }
  const { rows } = await client.query<Row>(
    `select kind, version, locale, sha256, withdrawn, at, address, agent
       from consents where user_id = $1 order by id desc limit $2`,
    [userId, listedMax],
  )
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }))
}

async function readSessions(client: Queryable, userId: string): Promise<Export['sessions']> {
  const sessions = await listLiveSessions(client, userId)
  return sessions.map(({ id, address, agent, createdAt, seenAt, expiresAt }) => ({
    id,
    address,
    agent,
    created_at: createdAt.toISOString(),
    seen_at: seenAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }))
}

type OrganizationRow = {
  readonly id: string
  readonly name: string
  readonly displayName: string | null
  readonly timeZone: string
  readonly role: MemberRole
  readonly joinedAt: Date
}

async function readOrganizations(
  client: Queryable,
  userId: string,
  appUrl: string,
): Promise<Export['organizations']> {
  const { rows } = await client.query<OrganizationRow>(
    `select o.id, o.name, o.display_name as "displayName", o.time_zone as "timeZone", m.role, m.created_at as "joinedAt"
       from memberships m join organizations o on o.id = m.organization_id
      where m.user_id = $1 order by m.created_at, o.id limit $2`,
    [userId, listedMax],
  )
  const organizations: Export['organizations'] = []
  for (const row of rows) organizations.push(await readOrganization(client, row, { userId, appUrl }))
  return organizations
}

/** A member exports what the member's role sees. */
async function readOrganization(
  client: Queryable,
  { id, name, displayName, timeZone, role, joinedAt }: OrganizationRow,
  { userId, appUrl }: { readonly userId: string; readonly appUrl: string },
): Promise<Export['organizations'][number]> {
  const rights: readonly string[] = rightsOf[role]
  const seesMoney = rights.includes('billing.read')
  const keys = rights.includes('keys.read') ? await readKeys(client, id) : null
  const payments = seesMoney ? await readPayments(client, id) : null
  const fileOf = (file: string) => `${appUrl}/api/v1/${file}?organization_id=${id}`
  return {
    id,
    name,
    display_name: displayName,
    time_zone: timeZone,
    role,
    joined_at: joinedAt.toISOString(),
    keys: keys?.slice(0, rowsMax) ?? null,
    payments: payments?.slice(0, rowsMax) ?? null,
    saved_card: await readSavedCard(client, id, userId),
    is_complete: [keys, payments].every((list) => list === null || list.length <= rowsMax),
    requests_csv: fileOf('requests.csv'),
    ledger_csv: seesMoney ? fileOf('ledger.csv') : null,
  }
}

/** The user's own card, not one of a colleague. */
async function readSavedCard(client: Queryable, organizationId: string, userId: string) {
  const { rows } = await client.query<{ brand: string; last4: string; expires: string; savedAt: Date }>(
    `select brand, last4, expires, saved_at as "savedAt" from saved_cards where organization_id = $1 and user_id = $2`,
    [organizationId, userId],
  )
  const [card] = rows
  if (card === undefined) return null
  const { savedAt, ...shown } = card
  return { ...shown, saved_at: savedAt.toISOString() }
}

type KeyRow = Omit<
  NonNullable<Export['organizations'][number]['keys']>[number],
  'daily_budget_rub' | 'created_at' | 'expires_at' | 'revoked_at'
> & {
  readonly budget: NanoRub | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
}

async function readKeys(client: Queryable, organizationId: string) {
  const { rows } = await client.query<KeyRow>(
    `select id, name, purpose, managed_by, rpm, tpm, daily_budget_nano as budget, allowed_models, allowed_ips, tags,
            created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt"
       from api_keys where organization_id = $1 order by id desc limit $2`,
    [organizationId, rowsMax + 1],
  )
  return rows.map(({ budget, createdAt, expiresAt, revokedAt, ...key }) => ({
    ...key,
    daily_budget_rub: budget === null ? null : formatRub(budget),
    created_at: createdAt.toISOString(),
    expires_at: timeOf(expiresAt),
    revoked_at: timeOf(revokedAt),
  }))
}

type PaymentRow = {
  readonly id: string
  readonly amount: NanoRub
  readonly refunded: NanoRub
  readonly status: string
  readonly isAutomatic: boolean
  readonly createdAt: Date
  readonly succeededAt: Date | null
}

async function readPayments(client: Queryable, organizationId: string) {
  const { rows } = await client.query<PaymentRow>(
    `select id, amount, refunded, status, automatic_day is not null as "isAutomatic", created_at as "createdAt", succeeded_at as "succeededAt"
       from payments where organization_id = $1 order by created_at desc, id desc limit $2`,
    [organizationId, rowsMax + 1],
  )
  return rows.map(({ id, amount, refunded, status, isAutomatic, createdAt, succeededAt }) => ({
    id,
    status,
    is_automatic: isAutomatic,
    amount_rub: formatRub(amount),
    refunded_rub: formatRub(refunded),
    created_at: createdAt.toISOString(),
    succeeded_at: timeOf(succeededAt),
  }))
}

function timeOf(at: Date | null): string | null {
  return at === null ? null : at.toISOString()
}
