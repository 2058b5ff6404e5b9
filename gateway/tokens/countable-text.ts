/** Most of one text that is counted, in UTF-16 units: 1 Mi, a few tenths of a second. Longer texts are scaled up. */
export const countedLengthMax = 1024 * 1024

/** A text that may need counting: its beginning, in separate parts, and the length of the whole. */
export type CountableText = { readonly parts: readonly string[]; readonly length: number }

/** The texts as one, without what would not be counted anyway. */
export function countableText(texts: Iterable<string>): CountableText {
  const parts: string[] = []
  let length = 0
  for (const text of texts) {
    if (length < countedLengthMax) parts.push(text.slice(0, countedLengthMax - length))
    length += text.length
  }
  return { parts, length }
}

/** The tokens of the whole text, when its beginning has `counted`. */
export function scaleUp(counted: number, { length }: CountableText): number {
  return length <= countedLengthMax ? counted : Math.ceil((counted * length) / countedLengthMax)
}
