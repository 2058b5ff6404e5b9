import type { IncomingHttpHeaders } from 'node:http'

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a request may change data, based on its origin. Clients other than browsers send no cookies and neither
 * header, and are allowed. A request with a session cookie must prove with one of the headers that it comes from our
 * own pages. Pure.
 *
 * @param appOrigin of `APP_URL`.
 */
export function isSameSite(
  method: string,
  headers: IncomingHttpHeaders,
  { appOrigin, hasSession }: { readonly appOrigin: string; readonly hasSession: boolean },
): boolean {
  if (readingMethods.has(method)) return true
  const site = headers['sec-fetch-site']
  const { origin } = headers
  if (site !== undefined && site !== 'same-origin') return false
  if (origin !== undefined && origin !== appOrigin) return false
  return site !== undefined || origin !== undefined || !hasSession
}
