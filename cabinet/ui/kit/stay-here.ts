import { useEffect } from 'react'

/** The address to stay at, while what is shown there is nowhere else. */
let keptAt: string | undefined

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

/** While it is needed, Back does nothing, and a reload is asked about. */
export function useStayingHere(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    keptAt = location.href
    addEventListener('beforeunload', ask)
    return () => {
      keptAt = undefined
      removeEventListener('beforeunload', ask)
    }
  }, [isNeeded])
}
