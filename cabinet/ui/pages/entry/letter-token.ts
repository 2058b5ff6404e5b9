import { useState } from 'react'

/** The token of a letter's link. It stands behind `#`, so that no server, log or other site ever sees it. */
export function useLetterToken(): string {
  return useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? '')[0]
}

/** Once a token has served it must not stay in the browser's history. */
export function forgetLetterToken(): void {
  history.replaceState(history.state, '', location.pathname + location.search)
}
