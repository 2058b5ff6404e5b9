import { navigate } from 'wouter/use-browser-location'
import { findPage, pageRoutes } from '../page-routes.ts'
import { leaveOnceAllowed } from './stay-here.ts'

/**
 * Goes to the sign-in page, which returns to this one. If a secret is shown, waits until it is closed. Does nothing on
 * public pages.
 */
export function goToLogin(): void {
  leaveOnceAllowed(leaveForLogin)
}

function leaveForLogin(): void {
  const page = findPage(location.pathname)
  if (page === undefined || pageRoutes[page.path].area !== 'app') return
  const next = `${location.pathname}${location.search}`
  navigate(`/login?${new URLSearchParams({ next })}`, { replace: true })
}

/** The address after signing in: the requested page if it is ours, else the overview. Pure. */
export function nextPage(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? ''
  const [pathname = ''] = next.split(/[?#]/)
  const page = findPage(pathname)
  return next.startsWith('/app') && page !== undefined ? next : '/app'
}
