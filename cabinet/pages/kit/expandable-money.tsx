import { useId, useState } from 'react'
import { useLanguage, useWords } from '../i18n/language.ts'
import { formatRoubles } from '../money/rubles.ts'
import { kitWords } from './messages.ts'
import { Money } from './money.tsx'

/**
 * A prominent sum, such as a balance: shown to the kopeck. If there are more digits, a click shows all of them over the
 * content below, so that nothing moves. Escape or another click hides them.
 */
export function ExpandableMoney({
  rubles,
  isSpent = false,
}: {
  readonly rubles: string
  /** Rounds half up instead of down. */
  readonly isSpent?: boolean
}) {
  const language = useLanguage()
  const words = useWords(kitWords)
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const exact = formatRoubles(rubles, language, 'exact')
  const money = <Money rubles={rubles} isSpent={isSpent} />
  if (formatRoubles(rubles, language, isSpent ? 'spent' : 'kopecks') === exact) return money
  return (
    <span className="relative inline-block">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        className="min-h-6 cursor-pointer underline decoration-edge decoration-dotted decoration-1 underline-offset-4"
        onClick={() => setOpen(!isOpen)}
        onKeyDown={({ key }) => {
          if (key === 'Escape') setOpen(false)
        }}
      >
        {money}
        <span className="sr-only"> {words.showExactly}</span>
      </button>
      <span id={id} role="status">
        {isOpen && (
          <span className="absolute start-0 top-full z-10 mt-1 w-max max-w-60 rounded-md border border-line bg-raised px-3 py-2 text-sm font-normal text-ink tabular-nums shadow-floating">
            {words.exactly(exact)}
          </span>
        )}
      </span>
    </span>
  )
}
