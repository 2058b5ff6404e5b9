/** A heading of the documentation. */
export type SearchEntry = {
  /** The title of its page. */
  readonly page: string
  readonly title: string
  readonly address: string
  /** Up to the next heading. */
  readonly text: string
}

/** A longer query is cut: its first words find what there is to find. */
const queryLengthMax = 100
const wordsMax = 8
const resultsMax = 12

/**
 * The headings that have every word of a query, or a word that begins with it, in their title, page or text; the best
 * first. Its work is bounded for any query. Pure.
 */
export function search(entries: readonly SearchEntry[], query: string): readonly SearchEntry[] {
  const words = wordsOf(query.slice(0, queryLengthMax)).slice(0, wordsMax)
  if (words.length === 0) return []
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, resultsMax)
    .map(({ entry }) => entry)
}

/** 0 if any word is missing. */
function scoreOf({ title, page, text }: SearchEntry, words: readonly string[]): number {
  const [inTitle, inPage, inText] = [wordsOf(title), wordsOf(page), ` ${wordsOf(text).join(' ')}`]
  let sum = 0
  for (const word of words) {
    const score = Math.max(
      inTitle.includes(word) ? 8 : 0,
      inTitle.some((one) => one.startsWith(word)) ? 5 : 0,
      inPage.some((one) => one.startsWith(word)) ? 3 : 0,
      inText.includes(` ${word}`) ? 1 : 0,
    )
    if (score === 0) return 0
    sum += score
  }
  return sum
}

/** In lower case; a code such as `invalid_api_key` is one word, and `ё` is `е`. */
function wordsOf(text: string): readonly string[] {
  return (
    text
      .toLowerCase()
      .replaceAll('ё', 'е')
      .match(/[\p{L}\p{N}_]+/gu) ?? []
  )
}
