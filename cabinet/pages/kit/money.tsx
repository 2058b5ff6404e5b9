import { useLanguage, useWords } from '../i18n/language.ts'
import { formatRoubles } from '../money/rubles.ts'
import { kitWords } from './messages.ts'

/**
 * A sum of rubles to the kopeck, rounded down, with every digit in its title (for touch and keyboard:
 * `ExpandableMoney`). `isSpent` rounds half up instead. `isExact` always shows every digit, for prices and the cost of
 * one request. `digits` aligns the points of a column.
 */
export function Money({
  rubles,
  isSpent = false,
  isExact = false,
  digits,
}: {
  readonly rubles: string
  readonly isSpent?: boolean
  readonly isExact?: boolean
  /** Every digit, and at least this many: `digitsOf` of the column. */
  readonly digits?: number
}) {
  const language = useLanguage()
  const words = useWords(kitWords)
  const exact = formatRoubles(rubles, language, 'exact')
  const rounded = digits ?? (isSpent ? 'spent' : 'kopecks')
  const shown = isExact ? exact : formatRoubles(rubles, language, rounded)
  return (
    <data
      value={rubles}
      className="whitespace-nowrap"
      {...(!isExact && digits === undefined && shown !== exact && { title: words.exactly(exact) })}
    >
      {shown}
    </data>
  )
}
