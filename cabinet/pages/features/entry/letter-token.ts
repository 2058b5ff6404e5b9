import { useSyncExternalStore } from 'react'

/**
 * The token of a letter's link; empty where there is none. It stands behind `#`, so that no server, log or other site ever
 * sees it. A link that is opened in the tab that has asked for it loads nothing: it is read again.
 */
export function useLetterToken(): string {
  return useSyncExternalStore(subscribe, readToken)
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

function readToken(): string {
  return new URLSearchParams(location.hash.slice(1)).get('token') ?? ''
}

/** Once a token has served it must not stay in the browser's history; the page that is shown stays as it is. */
export function forgetLetterToken(): void {
  history.replaceState(history.state, '', location.pathname + location.search)
}
