import { useSyncExternalStore } from 'react'

/** How our server responded to the last call. `unavailable`: it responds, but a store that it needs does not. */
type Answered = 'fine' | 'unavailable' | 'unreachable'

/** `offline`: the browser knows that it has no network. `slow`: a read waits for its response. */
export type Reachability = Answered | 'offline' | 'slow'

let answered: Answered = 'fine'
let slowReads = 0
const listeners = new Set<() => void>()

export function noteAnswer(reachability: Answered): void {
  if (answered === reachability) return
  answered = reachability
  notify()
}

/** Notes a read that takes long. @returns to be called when it has ended. */
export function noteSlowRead(): () => void {
  slowReads++
  notify()
  return () => {
    slowReads--
    notify()
  }
}

/** The present state; a change renders the component again. */
export function useReachability(): Reachability {
  return useSyncExternalStore(subscribe, present)
}

function present(): Reachability {
  if (!navigator.onLine) return 'offline'
  return answered === 'fine' && slowReads > 0 ? 'slow' : answered
}

function notify(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('online', listener)
  addEventListener('offline', listener)
  return () => {
    listeners.delete(listener)
    removeEventListener('online', listener)
    removeEventListener('offline', listener)
  }
}
