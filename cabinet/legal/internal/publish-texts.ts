import { createHash } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import type { Locale } from '../../api/access.ts'
import { listLegalVersions } from '../legal-texts.ts'
import { type LegalKind, type LegalVersion, legalDay } from '../legal-version.ts'

type Draft = {
  readonly kind: LegalKind
  /** The day on which it takes effect. */
  readonly version: string
  readonly texts: Readonly<Record<Locale, string>>
  readonly publishedBy: string
}

export type Refusal = 'in_the_past' | 'not_the_newest'

type Published = Pick<Draft, 'kind' | 'version'> & { readonly sha256: Record<Locale, string> }

/**
 * Publishes a version in both languages, with a row of the audit log. A version is never changed: a mistake is fixed by
 * a later one.
 */
export async function publishTexts(
  client: ScopedClient,
  { kind, version, texts, publishedBy }: Draft,
  now: Date,
): Promise<Published | { readonly refused: Refusal; readonly earliest: string }> {
  // Of two at once, the second sees the first.
  await client.query("select pg_advisory_xact_lock(hashtextextended('legal_texts', 0))")
  const refusal = refuse(version, await newestOf(client, kind), legalDay(now))
  if (refusal !== undefined) return refusal
  const sha256 = { ru: hashOf(texts.ru), en: hashOf(texts.en) }
  await client.change(
    `insert into legal_texts (kind, version, locale, text, sha256, published_by)
     values ($1, $2, 'ru', $3, $4, $7), ($1, $2, 'en', $5, $6, $7)`,
    [kind, version, texts.ru, sha256.ru, texts.en, sha256.en, publishedBy],
    () => ({
      action: 'document.publish',
      subject: { kind: 'LegalDocument', id: `${kind} ${version}` },
      organizationId: null,
      before: null,
      after: { sha256 },
    }),
  )
  return { kind, version, sha256 }
}

function refuse(version: string, newest: string, today: string) {
  if (version < today) return { refused: 'in_the_past', earliest: today } as const
  return version <= newest ? ({ refused: 'not_the_newest', earliest: newest } as const) : undefined
}

async function newestOf(client: ScopedClient, kind: LegalKind): Promise<string> {
  const ofKind = (await listLegalVersions(client)).filter((one: LegalVersion) => one.kind === kind)
  return ofKind[0]?.version ?? ''
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
