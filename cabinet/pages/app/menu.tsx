import { type ReactNode, useEffect, useId, useRef } from 'react'
import { usePathname } from 'wouter/use-browser-location'
import { classNames } from '../kit/class-names.ts'
import { Icon, type IconName } from '../kit/icon.tsx'

/** A button that opens a small panel below it; Escape, a click elsewhere and navigation close it. */
export function Menu({
  label,
  icon,
  text,
  children,
}: {
  readonly label: string
  readonly icon: IconName
  /** Shown in front of the icon; then the panel opens at the start of the page. */
  readonly text?: string
  readonly children: ReactNode
}) {
  const id = useId()
  const panel = useRef<HTMLDivElement>(null)
  const pathname = usePathname()
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the menu
  useEffect(() => panel.current?.hidePopover(), [pathname])
  return (
    <div className="relative min-w-0">
      <button
        type="button"
        popoverTarget={id}
        aria-label={label}
        title={label}
        className={classNames(
          'inline-flex items-center justify-center rounded-md text-muted transition-colors hover:bg-hover hover:text-ink',
          text === undefined ? 'size-9' : 'min-h-9 max-w-full gap-1 px-2 text-sm',
        )}
      >
        {text !== undefined && <span className="min-w-0 truncate max-sm:sr-only">{text}</span>}
        <Icon name={icon} />
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        className={classNames(
          text === undefined ? 'end-4' : 'start-4',
          'fixed inset-auto top-14 m-0 w-72 max-w-[calc(100vw-2rem)] rounded-lg border border-line bg-raised p-4 text-ink shadow-floating',
        )}
      >
        {children}
      </div>
    </div>
  )
}
