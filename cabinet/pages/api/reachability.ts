import { useSyncExternalStore } from 'react'

/** How our server responded to the last call. `unavailable`: it responds, but a store that it needs does not. */
export type Reachability = 'fine' | 'unavailable' | 'unreachable'

let present: Reachability = 'fine'
const listeners = new Set<() => void>()

export function noteAnswer(reachability: Reachability): void {
  if (present === reachability) return
  present = reachability
  for (const listener of listeners) listener()
}

/** The present state; a change renders the component again. */
export function useReachability(): Reachability {
  const noted = useSyncExternalStore(subscribe, () => present)
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine)
  return isOnline ? noted : 'unreachable'
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
