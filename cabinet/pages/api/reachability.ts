import { useSyncExternalStore } from 'react'

/** How our server was at the last call. `unavailable`: it answers, but what it needs is away. */
export type Reachability = 'fine' | 'unavailable' | 'unreachable'

let present: Reachability = 'fine'
const listeners = new Set<() => void>()

export function noteAnswer(reachability: Reachability): void {
  if (present === reachability) return
  present = reachability
  for (const listener of listeners) listener()
}

/** As it is now; the component is drawn again when it changes. */
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
