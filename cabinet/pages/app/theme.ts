import { useSyncExternalStore } from 'react'
import { keepPreference } from '../i18n/kept-preference.ts'
import { findTheme, type Theme, themeCookie } from '../preferences.ts'

const listeners = new Set<() => void>()

/** Changes the theme at once and keeps it in this browser. */
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
