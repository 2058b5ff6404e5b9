import type { RefObject } from 'react'

/** After a dialog: the button that opened it may have disappeared with the state that it belonged to. */
export function focusBack(part: RefObject<HTMLElement | null>): void {
  if (document.activeElement === document.body) part.current?.querySelector('button')?.focus()
}
