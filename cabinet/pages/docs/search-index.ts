import { addressIn } from '../public-addresses.ts'
import type { SearchEntry } from '../site/search.ts'
import type { Doc } from './read-docs.ts'

/** Enough to find a heading by the words below it; a whole reference table would make the index heavy. */
const textLengthMax = 1_500

/** What a reader of these pages can find: an entry for each heading. Pure. */
export function searchIndexOf(docs: readonly Doc[]): readonly SearchEntry[] {
  return docs.flatMap((doc) =>
    doc.sections.map(({ level, anchor, title, text }) => ({
      page: doc.title,
      title,
      address: `${addressIn(doc.language, doc.path)}${level === 1 ? '' : `#${anchor}`}`,
      text: text.slice(0, textLengthMax),
    })),
  )
}
