import { type ReactNode, useEffect, useId, useRef } from 'react'
import { usePathname } from 'wouter/use-browser-location'
import { Icon, type IconName } from '../kit/icon.tsx'

/** A button that opens a small panel below it; Escape, a click elsewhere and navigation close it. */
export function Menu({
  label,
  icon,
  children,
}: {
  readonly label: string
  readonly icon: IconName
  readonly children: ReactNode
}) {
  const id = useId()
  const panel = useRef<HTMLDivElement>(null)
  const pathname = usePathname()
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the menu
  useEffect(() => panel.current?.hidePopover(), [pathname])
  return (
    <div className="relative">
      <button
        type="button"
        popoverTarget={id}
        aria-label={label}
        title={label}
        className="inline-flex size-9 items-center justify-center rounded-md text-muted transition-colors hover:bg-hover hover:text-ink"
      >
        <Icon name={icon} />
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        className="fixed inset-auto end-4 top-14 m-0 w-72 max-w-[calc(100vw-2rem)] rounded-lg border border-line bg-raised p-4 text-ink shadow-floating"
      >
        {children}
      </div>
    </div>
  )
}
