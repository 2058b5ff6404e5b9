import { type ReactNode, useId, useState } from 'react'
import { classNames } from './class-names.ts'
import { Icon } from './icon.tsx'

/**
 * What stands beside the main thing where there is room, and is folded behind a button where it is narrow, so that people see
 * first what they came for.
 */
export function Fold({
  label,
  isNeeded = false,
  children,
}: {
  /** What is in it, and how much of that is set. */
  readonly label: string
  /** Something in it is wrong: it cannot be hidden. */
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
