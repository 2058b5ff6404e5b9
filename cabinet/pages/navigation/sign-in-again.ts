import { navigate } from 'wouter/use-browser-location'
import { leaveOnceAllowed } from './stay-here.ts'

/** Addresses of pages that need a session. */
const ofSession = /^\/app(?:\/|$)/

/**
 * Goes to the sign-in page, which returns to this one. If a secret is shown, waits until it is closed. Does nothing on
 * public pages.
 */
export function goToLogin(): void {
  leaveOnceAllowed(leaveForLogin)
}

function leaveForLogin(): void {
  if (!ofSession.test(location.pathname)) return
  const next = `${location.pathname}${location.search}`
  navigate(`/login?${new URLSearchParams({ next })}`, { replace: true })
}

/** The address after signing in: the requested page if it exists, else the first one. Pure. */
export function nextPage(search: string, findPage: (pathname: string) => object | undefined): string {
  const next = new URLSearchParams(search).get('next') ?? ''
  const [pathname = ''] = next.split(/[?#]/)
  return ofSession.test(pathname) && findPage(pathname) !== undefined ? next : '/app'
}
