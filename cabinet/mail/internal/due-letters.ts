import type { Queryable } from '#core/db/pool'
import { type LetterKind, type Locale, letterKinds } from './letter-content.ts'

/** An email that this worker may send until its lease ends. */
export type DueLetter = {
  readonly id: string
  readonly kind: LetterKind
  readonly recipient: string
  readonly locale: Locale
  readonly vars: unknown
  readonly createdAt: Date
  /** Since it was due, by Postgres's clock. */
  readonly ageMs: number
  /** Attempts, including the current one. */
  readonly attempts: number
}

/**
 * Takes the email that has been due longest, for `leaseMs`. Other workers get it only when this lease ends, for example
 * because this worker died. Locks one row for one statement, so that no transaction waits for a mail server.
 */
export async function takeDueLetter(client: Queryable, leaseMs: number): Promise<DueLetter | undefined> {
  const { rows } = await client.query<DueLetter>(
    `with due as materialized (
       select id from email_outbox
        where sent_at is null and gave_up_at is null and next_attempt_at <= clock_timestamp() and kind = any($2)
        order by next_attempt_at limit 1 for update skip locked)
     update email_outbox l
        set attempts = l.attempts + 1, next_attempt_at = clock_timestamp() + $1 * interval '1 ms'
       from due where l.id = due.id
     returning l.id, l.kind, l.recipient, l.locale, l.vars, l.created_at as "createdAt", l.attempts,
               extract(epoch from clock_timestamp() - l.due_at)::float8 * 1000 as "ageMs"`,
    [leaseMs, letterKinds],
  )
  return rows[0]
}

/** Records that an email was accepted, and deletes its content: its links may open an account. */
export async function noteSent(client: Queryable, id: string): Promise<void> {
  await client.query(
    `update email_outbox set sent_at = clock_timestamp(), vars = '{}', last_error = null
      where id = $1 and sent_at is null and gave_up_at is null`,
    [id],
  )
}

/** Gives up an email, and deletes its content. */
export async function noteGivenUp(
  client: Queryable,
  { id, attempts }: DueLetter,
  why: string,
): Promise<void> {
  await client.query(
    `update email_outbox set gave_up_at = clock_timestamp(), vars = '{}', last_error = $3
      where id = $1 and attempts = $2 and sent_at is null and gave_up_at is null`,
    [id, attempts, why],
  )
}

/** Postpones the next attempt. Changes nothing if the lease has ended and another worker has taken the email. */
export async function noteFailedTry(
  client: Queryable,
  { id, attempts }: DueLetter,
  pauseMs: number,
  why: string,
): Promise<void> {
  await client.query(
    `update email_outbox set next_attempt_at = clock_timestamp() + $3 * interval '1 ms', last_error = $4
      where id = $1 and attempts = $2 and sent_at is null and gave_up_at is null`,
    [id, attempts, pauseMs, why],
  )
}

/** The number of emails due and not sent, and how long the oldest has been due; 0 if there are none. */
export async function readWaitingLetters(
  client: Queryable,
): Promise<{ readonly count: number; readonly oldestAgeSeconds: number }> {
  const { rows } = await client.query<{ count: number; oldestAgeSeconds: number }>(
    `select count(*)::int as count,
            coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0)::float8 as "oldestAgeSeconds"
       from email_outbox where sent_at is null and gave_up_at is null and due_at <= clock_timestamp()`,
  )
  const [waiting] = rows
  if (waiting === undefined) throw new Error('Postgres returned no count of emails')
  return waiting
}

/** Removes at most `countMax` emails that ended this many days ago. Returns the number. */
export async function removeOldLetters(client: Queryable, days: number, countMax: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from email_outbox where id in (
       select id from email_outbox
        where (sent_at is not null or gave_up_at is not null) and created_at < now() - make_interval(days => $1)
        limit $2)`,
    [days, countMax],
  )
  return rowCount ?? 0
}
