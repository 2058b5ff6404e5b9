import type { ScopedClient } from '../audit/scope.ts'
import type { LetterContent, Locale } from './internal/letter-content.ts'

/** A letter to one address. */
export type Letter = LetterContent & {
  readonly recipient: string
  readonly locale: Locale
  /** Of two letters with the same one only the first is written. It outlives the letter, so no secret may be in it. */
  readonly dedupeKey?: string
}

/**
 * Puts a letter into the outbox, in the transaction of what it tells about: it is sent if that commits, normally within
 * a second, and never otherwise. Links in it are kept until then and not a moment longer.
 *
 * A letter is a consequence of a change, so the audit log has the change alone.
 */
export async function enqueueLetter(client: ScopedClient, letter: Letter): Promise<void> {
  const { kind, vars, recipient, locale, dedupeKey } = letter
  await client.unaudited(
    `insert into email_outbox (kind, recipient, locale, vars, dedupe_key) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [kind, recipient, locale, JSON.stringify(vars), dedupeKey ?? null],
  )
}
