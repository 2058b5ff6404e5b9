let aheadMs = 0

/** The `Date` of a response, to the second. */
export function noteServerTime(date: string | null): void {
  const serverMs = Date.parse(date ?? '')
  if (!Number.isNaN(serverMs)) aheadMs = serverMs - Date.now()
}

/**
 * Now by the server's clock, which limits and end dates use: the browser's own may be an hour off. Unix milliseconds.
 */
export function serverNowMs(): number {
  return Date.now() + aheadMs
}
