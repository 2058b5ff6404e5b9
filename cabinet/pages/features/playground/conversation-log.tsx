import { useEffect, useRef } from 'react'
import { useWords } from '../../i18n/language.ts'
import type { Exchange } from './conversation.ts'
import { ExchangeView } from './exchange-view.tsx'
import { playgroundWords } from './messages.ts'

type Props = {
  readonly exchanges: readonly Exchange[]
  readonly isRunning: boolean
  /** Asks the last question again; `undefined` if the present settings do not allow it. */
  readonly onRetry: (() => void) | undefined
}

/** The conversation so far; follows new text unless the user has scrolled up. */
export function ConversationLog({ exchanges, isRunning, onRetry }: Props) {
  const words = useWords(playgroundWords)
  const list = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)

  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolling follows the exchanges
  useEffect(() => {
    if (list.current !== null && isAtEnd.current) list.current.scrollTop = list.current.scrollHeight
  }, [exchanges])

  return (
    <div
      ref={list}
      role="log"
      aria-label={words.conversation}
      aria-busy={isRunning}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
      tabIndex={0}
      className="-mx-2 max-h-[60dvh] overflow-y-auto px-2 py-1"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
      }}
    >
      <ol className="grid gap-6">
        {exchanges.map((exchange, index) => (
          <ExchangeView
            key={exchange.id}
            exchange={exchange}
            onRetry={index === exchanges.length - 1 ? onRetry : undefined}
          />
        ))}
      </ol>
    </div>
  )
}
