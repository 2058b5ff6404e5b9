import { useSyncExternalStore } from 'react'

const shownForMs = 5_000

let shown: readonly { readonly id: number; readonly text: string }[] = []
let nextId = 0
const listeners = new Set<() => void>()

/** Briefly confirms an action, also to screen readers. Never the only report of an error. */
export function announce(text: string): void {
  const id = nextId++
  show([...shown, { id, text }].slice(-3))
  setTimeout(() => show(shown.filter((toast) => toast.id !== id)), shownForMs)
}

/** The place of the toasts; once per page. */
export function Toasts() {
  const toasts = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown,
  )
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-20 z-50 grid justify-items-center gap-2 md:bottom-6"
    >
      {toasts.map(({ id, text }) => (
        <p
          key={id}
          className="rounded-md border border-line bg-ink px-4 py-2 text-sm text-page shadow-floating"
        >
          {text}
        </p>
      ))}
    </div>
  )
}

function show(toasts: typeof shown): void {
  shown = toasts
  for (const listener of listeners) listener()
}
