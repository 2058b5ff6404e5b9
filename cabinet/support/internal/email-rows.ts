import { exactTimeSql } from '#core/db/exact-time'
import type { Queryable } from '#core/db/pool'

/** An email that was written; never its content. */
export type EmailRow = {
  readonly id: string
  readonly kind: string
  readonly recipient: string
  readonly locale: 'ru' | 'en'
  readonly createdAt: Date
  readonly tries: number
  readonly sentAt: Date | null
  readonly gaveUpAt: Date | null
  readonly lastError: string | null
  /** The kind, the object that the email is about, and more, with `:` between them; `null`: about no object. */
  readonly occasion: string | null
  /** `createdAt` with microseconds, for cursors. */
  readonly position: string
}

const columns = `e.id, e.kind, e.recipient, e.locale, e.created_at as "createdAt", e.attempts as tries, e.sent_at as "sentAt",
  e.gave_up_at as "gaveUpAt", e.last_error as "lastError", e.dedupe_key as occasion, ${exactTimeSql('e.created_at')} as position`

const members =
  'select lower(u.email) from memberships m join users u on u.id = m.user_id where m.organization_id = $1'

/** Emails to members of `$1`, and its invitations. */
const ofOrganization = `
  (e.kind <> 'invitation' and lower(e.recipient) in (${members})
   or e.kind = 'invitation'
      and lower(e.recipient) in (select lower(i.email) from invitations i where i.organization_id = $1)
      and split_part(e.dedupe_key, ':', 2) in (select i.id::text from invitations i where i.organization_id = $1))`

/** Emails to an address, in lower case, newest first. Old ones are removed after delivery. */
export async function readEmailsTo(
  client: Queryable,
  address: string,
  limit: number,
): Promise<readonly EmailRow[]> {
  const { rows } = await client.query<EmailRow>(
    `select ${columns} from email_outbox e where lower(e.recipient) = $1 order by e.created_at desc limit $2`,
    [address, limit],
  )
  return rows
}

/** Emails to an organization's members and its invitations, newest first. */
export async function readEmailsOf(
  client: Queryable,
  organizationId: string,
  { after, limit }: { readonly after: readonly [string, string] | undefined; readonly limit: number },
): Promise<readonly EmailRow[]> {
  const [at = null, id = null] = after ?? []
  const { rows } = await client.query<EmailRow>(
    `select ${columns} from email_outbox e
      where ${ofOrganization} and ($2::timestamptz is null or (e.created_at, e.id) < ($2, $3::uuid))
      order by e.created_at desc, e.id desc limit $4`,
    [organizationId, at, id, limit],
  )
  return rows
}

/** One of the emails of an organization. */
export async function findEmailOf(
  client: Queryable,
  organizationId: string,
  id: string,
): Promise<EmailRow | undefined> {
  const { rows } = await client.query<EmailRow>(
    `select ${columns} from email_outbox e where ${ofOrganization} and e.id = $2`,
    [organizationId, id],
  )
  return rows[0]
}

/** Whether an email of this kind was written to an address within a minute. */
export async function hasRecent(
  client: Queryable,
  { kind, recipient }: Pick<EmailRow, 'kind' | 'recipient'>,
): Promise<boolean> {
  const { rows } = await client.query(
    `select from email_outbox e where lower(e.recipient) = lower($1) and e.kind = $2
        and e.created_at > clock_timestamp() - interval '1 minute' limit 1`,
    [recipient, kind],
  )
  return rows.length > 0
}

/** An email in a response. Pure. */
export function emailOf({ id, kind, recipient, createdAt, tries, sentAt, gaveUpAt, lastError }: EmailRow) {
  return {
    id,
    kind,
    recipient,
    created_at: createdAt.toISOString(),
    tries,
    sent_at: sentAt?.toISOString() ?? null,
    gave_up_at: gaveUpAt?.toISOString() ?? null,
    last_error: lastError,
  }
}
