import { useSyncExternalStore } from 'react'
import { findLanguage, type Language, languageCookie } from '../preferences.ts'
import { keepPreference } from './kept-preference.ts'

const listeners = new Set<() => void>()

/** The language that the server wrote into `<html>`, or the one chosen since. */
export function currentLanguage(): Language {
  return findLanguage(document.documentElement.lang) ?? 'ru'
}

/** Changes the language of everything shown, at once, and keeps it in this browser. */
export function setLanguage(language: Language): void {
  keepPreference(languageCookie, language)
  document.documentElement.lang = language
  for (const listener of listeners) listener()
}

export function useLanguage(): Language {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, currentLanguage)
}

/** The messages of a group in the present language: `useWords({ ru, en })`. */
export function useWords<Words>(words: Readonly<Record<Language, Words>>): Words {
  return words[useLanguage()]
}
