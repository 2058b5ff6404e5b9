import { randomBytes, randomUUID } from 'node:crypto'
import { inScope, type ScopedClient, scopeOfJob, scopeOfPerson } from '#core/audit/scope'
import { createOrganization } from '#core/organizations/organization-store'
import type { Locale } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'
import { enqueueLetter, mayStrangersWrite } from '../../mail/outbox.ts'
import { noPassword } from '../password.ts'
import { base32 } from './base32.ts'
import { insertConsents } from './consent-store.ts'
import { issueToken, mayGetLetter } from './email-tokens.ts'
import type { PeopleParts } from './people-parts.ts'

type Registration = { readonly email: string; readonly passwordHash: string; readonly locale: Locale }

type Known = {
  readonly id: string
  readonly email: string
  readonly locale: Locale
  readonly isConfirmed: boolean
  readonly isBlocked: boolean
}

/** The password that emails from before the repeated registration confirm, or `noPassword`. */
export type Earlier = { readonly userId: string; readonly passwordHash: string }

/**
 * Registers an address and writes an email to it, in one transaction. For a known address, the response is the same.
 * Its owner gets an email that reports this, or another confirmation email.
 */
export async function registerPerson(
  { pool, appUrl }: Pick<PeopleParts, 'pool' | 'appUrl'>,
  registration: Registration,
  visit: Visit,
): Promise<Earlier | undefined> {
  const userId = randomUUID()
  const { email, passwordHash, locale } = registration
  const scope = scopeOfPerson(userId, null, visit)
  return inScope(pool, scope, async (client) => {
    const isNew = await createUser(client, { ...registration, id: userId }, visit)
    if (!isNew) return registerAgain(client, appUrl, registration, visit)
    await sendVerification(client, appUrl, { id: userId, email, locale }, passwordHash)
    return undefined
  })
}

async function registerAgain(
  client: ScopedClient,
  appUrl: string,
  { email, passwordHash, locale }: Registration,
  visit: Visit,
): Promise<Earlier | undefined> {
  const known = await findKnown(client, email)
  if (known === undefined || known.isBlocked) return undefined
  if (known.isConfirmed) {
    await tellAlreadyRegistered(client, appUrl, known)
    return undefined
  }
  const before = { userId: known.id, passwordHash: await solePassword(client, known.id) }
  if (!(await mayGetLetter(client, 'verify_email', known.id))) return before
  await noteConsents(client, known.id, locale, visit)
  await sendVerification(client, appUrl, known, passwordHash)
  return before
}

/** Earlier emails to an address now confirm it without a password. */
export async function withdrawPasswords(
  { pool }: Pick<PeopleParts, 'pool'>,
  userId: string,
  visit: Visit,
): Promise<void> {
  await inScope(pool, scopeOfJob('register', visit), (client) =>
    client.withoutAudit(
      'what a token allows is audited when it is used',
      `update email_tokens set password_hash = $2 where user_id = $1 and kind = 'verify_email' and used_at is null`,
      [userId, noPassword],
    ),
  )
}

/** Writes another email to a registered but unconfirmed address. */
export async function sendAnotherLetter(
  { pool, appUrl }: Pick<PeopleParts, 'pool' | 'appUrl'>,
  email: string,
  visit: Visit,
): Promise<void> {
  await inScope(pool, scopeOfJob('resend-verification', visit), async (client) => {
    const known = await findKnown(client, email)
    if (known === undefined || known.isBlocked || known.isConfirmed) return
    if (!(await mayGetLetter(client, 'verify_email', known.id))) return
    await sendVerification(client, appUrl, known, await solePassword(client, known.id))
  })
}

/**
 * Creates a user with both consents who owns an organization, by default a new one. Does nothing if the address is
 * known.
 */
export async function createUser(
  client: ScopedClient,
  {
    id,
    email,
    passwordHash,
    locale,
    organizationId,
  }: Registration & { readonly id: string; readonly organizationId?: string | undefined },
  place: Pick<Visit, 'address' | 'agent'>,
): Promise<boolean> {
  const made = await client.change(
    `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at)
     values ($1, $2, $3, $4, now(), now()) on conflict do nothing returning id`,
    [id, email, locale, passwordHash],
    () => ({
      action: 'user.register',
      subject: { kind: 'User', id },
      organizationId: null,
      before: null,
      after: { locale },
    }),
  )
  if (made.length === 0) return false
  await insertConsents(client, id, locale, place)
  await addOwner(client, organizationId ?? (await makeOrganization(client)), id)
  return true
}

async function makeOrganization(client: ScopedClient): Promise<string> {
  const { id, created } = await createOrganization(client, `org-${base32(randomBytes(7)).slice(0, 10)}`)
  if (!created) throw new Error('the random name of a new organization was taken')
  return id
}

async function addOwner(client: ScopedClient, organizationId: string, userId: string): Promise<void> {
  await client.change(
    `insert into memberships (organization_id, user_id, role) values ($1, $2, 'owner') returning role`,
    [organizationId, userId],
    () => ({
      action: 'organization.add_member',
      subject: { kind: 'Organization', id: organizationId },
      organizationId,
      before: null,
      after: { userId, role: 'owner' },
    }),
  )
}

/** Registering again means consenting again. Confirming an email shows whether it was the same person. */
async function noteConsents(
  client: ScopedClient,
  userId: string,
  locale: Locale,
  visit: Visit,
): Promise<void> {
  await insertConsents(client, userId, locale, visit)
  await client.withoutAudit(
    'the consents that it repeats are append-only',
    'update users set accepted_offer_at = now(), accepted_pdn_at = now() where id = $1',
    [userId],
  )
}

async function findKnown(client: ScopedClient, email: string): Promise<Known | undefined> {
  const { rows } = await client.query<Known>(
    `select id, email, locale, email_confirmed_at is not null as "isConfirmed", blocked_at is not null as "isBlocked"
       from users where lower(email) = lower($1)`,
    [email],
  )
  return rows[0]
}

async function sendVerification(
  client: ScopedClient,
  appUrl: string,
  { id, email, locale }: Pick<Known, 'id' | 'email' | 'locale'>,
  passwordHash: string,
): Promise<void> {
  // Without its email, the token records that another registration brings a second password.
  const token = await issueToken(client, 'verify_email', id, passwordHash)
  if (!(await mayStrangersWrite(client, email))) return
  const link = `${appUrl}/verify-email#token=${token}`
  await enqueueLetter(client, { kind: 'verify_email', vars: { link }, recipient: email, locale })
}

/** At most one an hour. */
async function tellAlreadyRegistered(
  client: ScopedClient,
  appUrl: string,
  { id, email, locale }: Known,
): Promise<void> {
  if (!(await mayStrangersWrite(client, email))) return
  const hour = new Date().toISOString().slice(0, 13)
  await enqueueLetter(client, {
    kind: 'already_registered',
    recipient: email,
    locale,
    dedupeKey: `already_registered:${id}:${hour}`,
    vars: { loginLink: `${appUrl}/login`, resetLink: `${appUrl}/reset` },
  })
}

/**
 * The password that another email confirms: the registration's, if there was only one. After several registrations the
 * owner of each password is unknown, so the email confirms none of them. A reset link sets a password.
 */
async function solePassword(client: ScopedClient, userId: string): Promise<string> {
  const { rows } = await client.query<{ passwordHash: string }>(
    `select distinct password_hash as "passwordHash" from email_tokens where user_id = $1 and kind = 'verify_email' limit 2`,
    [userId],
  )
  return (rows.length === 1 ? rows[0]?.passwordHash : undefined) ?? noPassword
}
