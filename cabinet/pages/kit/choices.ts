/** One of the values of a field, with its name for users. */
export type Choice = { readonly value: string; readonly label: string }

/** As many as a user looks through; further ones are found by typing more. */
const shownMax = 100

/**
 * The choices that contain each typed word in their name or value, best first: those that begin with the text, then
 * in their order. The chosen one is always among them while nothing is typed. Pure.
 */
export function findChoices(
  choices: readonly Choice[],
  typed: string,
  chosen: string,
): { readonly shown: readonly Choice[]; readonly hiddenCount: number } {
  const wanted = typed.normalize('NFKC').toLowerCase().trim()
  const words = wanted.split(/\s+/)
  const found = choices.filter(({ value, label }) => {
    const text = `${label} ${value}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  const isFirst = ({ value, label }: Choice) =>
    wanted === ''
      ? value === chosen
      : label.toLowerCase().startsWith(wanted) || value.toLowerCase().startsWith(wanted)
  const isMoved = wanted !== '' || found.findIndex(isFirst) >= shownMax
  const sorted = isMoved ? [...found.filter(isFirst), ...found.filter((one) => !isFirst(one))] : found
  return { shown: sorted.slice(0, shownMax), hiddenCount: Math.max(0, sorted.length - shownMax) }
}
