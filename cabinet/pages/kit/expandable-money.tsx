import { useId, useState } from 'react'
import { formatRoubles } from '../money/roubles.ts'
import { kitWords } from '../words/kit.ts'
import { useLanguage, useWords } from '../words/language.ts'
import { Money } from './money.tsx'

/**
 * A sum that people look at closely, as a balance: kopecks, and where there is more to it, a press shows every digit below,
 * over what stands there, so that nothing moves. Escape or another press takes that away.
 */
export function ExpandableMoney({ roubles }: { readonly roubles: string }) {
  const language = useLanguage()
  const words = useWords(kitWords)
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const exact = formatRoubles(roubles, language, 'exact')
  if (formatRoubles(roubles, language) === exact) return <Money roubles={roubles} />
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
        <Money roubles={roubles} />
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
