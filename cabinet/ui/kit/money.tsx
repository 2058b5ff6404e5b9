import { formatRoubles } from '../money/roubles.ts'
import { kitWords } from '../words/kit.ts'
import { useLanguage, useWords } from '../words/language.ts'

/**
 * A sum of roubles: kopecks, rounded down, with every digit in its title; `isExact` shows every digit at once, as of prices
 * and of what one request cost.
 */
export function Money({
  roubles,
  isExact = false,
}: {
  readonly roubles: string
  readonly isExact?: boolean
}) {
  const language = useLanguage()
  const words = useWords(kitWords)
  const exact = formatRoubles(roubles, language, 'exact')
  const shown = isExact ? exact : formatRoubles(roubles, language)
  return (
    <data
      value={roubles}
      className="whitespace-nowrap"
      {...(shown !== exact && { title: words.exactly(exact) })}
    >
      {shown}
    </data>
  )
}
