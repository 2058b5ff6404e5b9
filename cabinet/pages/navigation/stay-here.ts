import { useEffect } from 'react'

/** The address to stay at while it shows something that exists nowhere else. */
let keptAt: string | undefined
/** Navigates away once that is allowed. */
let leave: (() => void) | undefined

/**
 * Lets a page undo Back. Called once, before the router listens: browsers call the listeners of a window in order, and
 * the router renders another page at once.
 */
export function listenBeforeRouter(): void {
  addEventListener('popstate', (event) => {
    if (keptAt === undefined) return
    event.stopImmediatePropagation()
    if (location.href !== keptAt) history.pushState(null, '', keptAt) // creates the entry that was left again
  })
}

/** Whether the page shows nothing that exists nowhere else. */
export function mayLeave(): boolean {
  return keptAt === undefined
}

/** Navigates away: at once, or after content that exists nowhere else has been closed. */
export function leaveOnceAllowed(how: () => void): void {
  if (keptAt === undefined) how()
  else leave = how
}

/** While it is needed, Back does nothing, a reload needs confirmation, and any other navigation waits. */
export function useStayingHere(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    keptAt = location.href
    addEventListener('beforeunload', ask)
    return () => {
      keptAt = undefined
      removeEventListener('beforeunload', ask)
      leave?.()
      leave = undefined
    }
  }, [isNeeded])
}
