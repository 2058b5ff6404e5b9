import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locale } from '../../api/access.ts'
import type { LegalKind, LegalText } from '../legal-version.ts'

const folder = join(import.meta.dirname, '../texts')
const fileName = /^(offer|personal_data|saved_card)-(\d{4}-\d{2}-\d{2})\.(ru|en)\.md$/

/** Every text that comes with this release. Read once, when the process starts. */
export const shippedTexts: readonly LegalText[] = readdirSync(folder).map((file): LegalText => {
  const [, kind, version, locale] = fileName.exec(file) ?? []
  if (version === undefined) throw new Error(`${file} does not have the name of a legal document`)
  const bytes = readFileSync(join(folder, file))
  return {
    kind: kind as LegalKind,
    version,
    locale: locale as Locale,
    text: bytes.toString('utf8'),
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
})
