import { useEffect } from 'react'

/** The address to stay at, while what is shown there is nowhere else. */
let keptAt: string | undefined
/** What takes the page away once it may. */
let leave: (() => void) | undefined

/**
 * Lets a page undo Back. Called once, before the router listens: browsers tell the listeners of a window in their order, and
 * the router draws another page at once.
 */
export function listenBeforeRouter(): void {
  addEventListener('popstate', (event) => {
    if (keptAt === undefined) return
    event.stopImmediatePropagation()
    if (location.href !== keptAt) history.pushState(null, '', keptAt) // the entry that was left, made again
  })
}

/** Does what takes this page away: at once, or when what is shown and is nowhere else has been closed. */
export function leaveOnceAllowed(how: () => void): void {
  if (keptAt === undefined) how()
  else leave = how
}

/** While it is needed, Back does nothing, a reload is asked about, and whatever else leads away from here waits. */
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
