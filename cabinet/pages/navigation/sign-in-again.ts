import { navigate } from 'wouter/use-browser-location'
import { leaveOnceAllowed } from '../kit/stay-here.ts'
import { findPage, pageRoutes } from '../page-routes.ts'

/**
 * Goes to the sign-in page, which comes back to this one: once a secret that is shown here has been closed. Where nobody
 * needs to have signed in it does nothing.
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

/** Where to go after signing in: the page that was asked for if it is one of ours, else the overview. Pure. */
export function nextPage(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? ''
  const [pathname = ''] = next.split(/[?#]/)
  const page = findPage(pathname)
  return next.startsWith('/app') && page !== undefined ? next : '/app'
}
