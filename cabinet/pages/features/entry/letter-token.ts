import { useSyncExternalStore } from 'react'

/**
 * The token of an email's link; empty if there is none. It is behind `#`, so that no server, log or other site ever
 * sees it. A link opened in the same tab loads no document, so the token is read again.
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

/** A used token must not stay in the browser's history; the page itself does not change. */
export function forgetLetterToken(): void {
  history.replaceState(history.state, '', location.pathname + location.search)
}
