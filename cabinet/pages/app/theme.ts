import { useSyncExternalStore } from 'react'
import { findTheme, type Theme, themeCookie } from '../preferences.ts'
import { keepPreference } from './kept-preference.ts'

const listeners = new Set<() => void>()

/** Changes how everything looks, at once, and keeps it in this browser. */
export function setTheme(theme: Theme): void {
  keepPreference(themeCookie, theme)
  document.documentElement.dataset.theme = theme
  for (const listener of listeners) listener()
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => findTheme(document.documentElement.dataset.theme) ?? 'system',
  )
}
