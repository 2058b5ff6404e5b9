/**
 * Longest run of characters without a change between space and no space, in characters: the tokenizer's time grows
 * with the square of a run (100,000 times "a" take it 3.5 s), and no word of any language is longer.
 */
const runLengthMax = 256

const runs = new RegExp(`\\s{1,${runLengthMax}}|\\S{1,${runLengthMax}}`, 'gu')

/** The text in pieces, cut only inside runs that are too long for a tokenizer; most texts are one piece. */
export function splitRuns(text: string): readonly string[] {
  const pieces: string[] = []
  let start = 0
  let kindBefore = ''
  for (const { 0: run, index } of text.matchAll(runs)) {
    const kind = run.trim() === '' ? 'space' : 'word'
    if (kind === kindBefore) {
      pieces.push(text.slice(start, index))
      start = index
    }
    kindBefore = kind
  }
  pieces.push(text.slice(start))
  return pieces
}
