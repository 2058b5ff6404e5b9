import type { Pool } from 'pg'
import type { Log } from '#core/process/log'
import { shippedTexts } from './internal/shipped-texts.ts'
import { listLegalVersions } from './legal-texts.ts'
import { type LegalVersion, legalDay, type SignUpKind, versionsInForce } from './legal-version.ts'

const freshMs = 5_000

/**
 * What new users accept, for an endpoint that answers without Postgres: from the versions read last, at first those of
 * this release. A version that takes effect at midnight is known before; one published for today within 5 s.
 */
export function createDocumentsInForce(
  pool: Pool,
  log: Pick<Log, 'warn'>,
): () => { kind: SignUpKind; version: string }[] {
  let versions: readonly LegalVersion[] = shippedTexts
  let askedAt = Number.NEGATIVE_INFINITY

  function readAgain(): void {
    askedAt = performance.now()
    listLegalVersions(pool).then(
      (read) => {
        versions = read
      },
      (error: unknown) => log.warn({ error: String(error) }, 'could not read legal texts, trying again'),
    )
  }

  return () => {
    if (performance.now() - askedAt > freshMs) readAgain()
    // Each version exists in every language.
    return versionsInForce(versions, 'ru', legalDay(new Date())).map(({ kind, version }) => ({
      kind,
      version,
    }))
  }
}
