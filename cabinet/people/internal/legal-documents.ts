import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locale } from '../../api/access.ts'

/** Documents that users accept separately. */
type DocumentKind = 'offer' | 'personal_data'

/** One version of a document in one language. Never changed after a user may have agreed to it. */
export type LegalDocument = {
  readonly kind: DocumentKind
  /** The day on which it takes effect. */
  readonly version: string
  readonly locale: Locale
  readonly text: string
  /** Hex, of the file's bytes. */
  readonly sha256: string
}

const folder = join(import.meta.dirname, '../legal')
const fileName = /^(offer|personal_data)-(\d{4}-\d{2}-\d{2})\.(ru|en)\.md$/

/** Every version of every document, newest first. Read once, when the process starts. */
export const legalDocuments: readonly LegalDocument[] = readdirSync(folder)
  .flatMap((file): LegalDocument[] => {
    const [, kind, version, locale] = fileName.exec(file) ?? []
    if (version === undefined) throw new Error(`${file} does not have the name of a legal document`)
    const bytes = readFileSync(join(folder, file))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return [
      { kind: kind as DocumentKind, version, locale: locale as Locale, text: bytes.toString('utf8'), sha256 },
    ]
  })
  .toSorted(
    (a, b) =>
      b.version.localeCompare(a.version) || a.kind.localeCompare(b.kind) || b.locale.localeCompare(a.locale),
  )

/** The documents that new users accept, in a language. */
export function currentDocuments(locale: Locale): readonly LegalDocument[] {
  return (['offer', 'personal_data'] as const).map((kind) => {
    const document = legalDocuments.find((one) => one.kind === kind && one.locale === locale)
    if (document === undefined) throw new Error(`legal document ${kind} does not exist in ${locale}`)
    return document
  })
}
