import { type ReactNode, useId, useState } from 'react'
import { classNames } from './class-names.ts'
import { Icon } from './icon.tsx'

/**
 * Secondary content: next to the main content where there is room, folded behind a button on narrow screens, so that
 * users see the main content first.
 */
export function Fold({
  label,
  isNeeded = false,
  children,
}: {
  /** The label, with the number of values set. */
  readonly label: string
  /** It contains an error, so it cannot be hidden. */
  readonly isNeeded?: boolean
  readonly children: ReactNode
}) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const isShown = isOpen || isNeeded
  return (
    <>
      <button
        type="button"
        aria-expanded={isShown}
        aria-controls={id}
        className="flex min-h-10 w-full items-center justify-between gap-3 rounded-md border border-line bg-raised px-3 text-start text-base font-medium shadow-raised hover:bg-hover md:hidden"
        onClick={() => setOpen(!isShown)}
      >
        <span className="min-w-0">{label}</span>
        <span className={classNames('text-muted', isShown && 'rotate-180')}>
          <Icon name="down" />
        </span>
      </button>
      <div id={id} className={classNames('max-md:mt-3', !isShown && 'max-md:hidden')}>
        {children}
      </div>
    </>
  )
}
