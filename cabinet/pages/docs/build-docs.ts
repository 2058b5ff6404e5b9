import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BuiltDoc } from '../built-public-pages.ts'
import { type Language, languages } from '../preferences.ts'
import { markdownAddressOf, writeDocPage } from './doc-page.ts'
import { type Doc, readDocs } from './read-docs.ts'
import { withoutComments } from './render-doc.ts'
import { searchIndexOf } from './search-index.ts'

const documents = join(import.meta.dirname, '../../../docs/use')

/**
 * Renders the documentation, and adds its search indexes to the assets of a build.
 * @throws Error that names the document which cannot be rendered
 */
export function buildDocs(outDir: string): readonly BuiltDoc[] {
  const docs = readDocs(documents)
  return languages.flatMap((language) => {
    const ofLanguage = docs.filter((doc) => doc.language === language)
    const index = writeIndex(outDir, language, ofLanguage)
    return ofLanguage.map((doc) => ({
      language,
      path: doc.path,
      languages: doc.languages,
      title: doc.title,
      description: doc.description,
      body: writeDocPage(doc, ofLanguage, index).markup,
      markdown: withoutComments(doc.markdown),
      markdownAddress: markdownAddressOf(doc),
    }))
  })
}

function writeIndex(outDir: string, language: Language, docs: readonly Doc[]): string {
  const text = JSON.stringify(searchIndexOf(docs))
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8)
  const address = `/assets/search-${language}-${hash}.json`
  writeFileSync(join(outDir, address), text)
  return address
}
