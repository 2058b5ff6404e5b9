import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { classNames } from './class-names.ts'

type Tab = { readonly id: string; readonly name: string; readonly content: ReactNode }

/** Several views of the same thing. The tab list is one Tab stop: arrows, Home and End choose a tab in it. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const prefix = useId()
  const [chosen, setChosen] = useState(tabs[0]?.id)
  const list = useRef<HTMLDivElement>(null)

  function onKeyDown(event: KeyboardEvent): void {
    const index = tabs.findIndex(({ id }) => id === chosen)
    const next = tabByKey(event, index, tabs.length)
    if (next === undefined) return
    event.preventDefault() // the page would scroll
    setChosen(tabs[next]?.id)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }

  return (
    <div className="grid min-w-0 gap-4">
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        className="flex flex-wrap gap-1 border-b border-line"
        onKeyDown={onKeyDown}
      >
        {tabs.map(({ id, name }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${prefix}-${id}`}
            aria-selected={id === chosen}
            aria-controls={`${prefix}-${id}-panel`}
            tabIndex={id === chosen ? 0 : -1}
            className={classNames(
              'min-h-10 border-b-2 px-3 text-base font-medium whitespace-nowrap outline-offset-[-2px]',
              id === chosen
                ? 'border-accent text-ink forced-colors:border-[Highlight]'
                : 'border-transparent text-muted hover:text-ink forced-colors:border-[Canvas]',
            )}
            onClick={() => setChosen(id)}
          >
            {name}
          </button>
        ))}
      </div>
      {tabs.map(({ id, content }) => (
        <div
          key={id}
          role="tabpanel"
          id={`${prefix}-${id}-panel`}
          aria-labelledby={`${prefix}-${id}`}
          hidden={id !== chosen}
          className="min-w-0"
        >
          {id === chosen && content}
        </div>
      ))}
    </div>
  )
}

/** The tab that a key chooses. Keys with a modifier belong to the browser: Alt and an arrow is Back. */
function tabByKey(event: KeyboardEvent, index: number, count: number): number | undefined {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return undefined
  if (event.key === 'ArrowRight') return (index + 1) % count
  if (event.key === 'ArrowLeft') return (index - 1 + count) % count
  if (event.key === 'Home') return 0
  if (event.key === 'End') return count - 1
  return undefined
}
