import { formatRoubles } from '../money/roubles.ts'
import { kitWords } from '../words/kit.ts'
import { useLanguage, useWords } from '../words/language.ts'

/**
 * A sum of roubles: kopecks, rounded down, with every digit in its title (by touch and keys: `ExpandableMoney`); `isExact` shows every digit at once, as of prices
 * and of what one request cost; in a column with `digits`, so that the points stand below each other.
 */
export function Money({
  roubles,
  isExact = false,
  digits,
}: {
  readonly roubles: string
  readonly isExact?: boolean
  /** Every digit, and at least so many: `digitsOf` of the column. */
  readonly digits?: number
}) {
  const language = useLanguage()
  const words = useWords(kitWords)
  const exact = formatRoubles(roubles, language, 'exact')
  const shown = isExact ? exact : formatRoubles(roubles, language, digits ?? 'kopecks')
  return (
    <data
      value={roubles}
      className="whitespace-nowrap"
      {...(!isExact && digits === undefined && shown !== exact && { title: words.exactly(exact) })}
    >
      {shown}
    </data>
  )
}
