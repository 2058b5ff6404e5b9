import { type ReactNode, useEffect } from 'react'
import type { OperationSection } from '../../administration-routes.ts'

/** A section that an address leads to by its anchor, below the bar at the top. */
export function Anchored({ id, children }: { readonly id: OperationSection; readonly children: ReactNode }) {
  return (
    <div id={id} className="scroll-mt-20">
      {children}
    </div>
  )
}

/** Scrolls to the section that the address names: the browser looked for it before the page was there. */
export function useAnchor(isLoaded: boolean): void {
  useEffect(() => {
    if (isLoaded && location.hash !== '')
      document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: 'start' })
  }, [isLoaded])
}
