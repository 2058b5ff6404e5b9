import type { IncomingHttpHeaders } from 'node:http'

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a request may change something, by where it came from. Programs that are no browser send neither header and no
 * cookie, and may; whoever has a session must say by one of them that our own pages sent it. Pure.
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
