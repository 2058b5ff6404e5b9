import { type ComponentType, lazy, useEffect } from 'react'
import { navigate } from 'wouter/use-browser-location'
import type { AdministrationPath } from '../administration-routes.ts'
import type { PageParams } from '../route-table.ts'

/** The props of a page: the variable parts of its address. */
type PageProps = { readonly params: PageParams }

type Page = ComponentType<PageProps>

const accountPage: Page = lazy(async () => ({
  default: (await import('./account/account-page.tsx')).AccountPage,
}))

/** The page of each route. Each is loaded when it is first shown. */
export const pageOf: Readonly<Record<AdministrationPath, Page>> = {
  '/': ToFirstPage,
  '/login': lazy(async () => ({ default: (await import('./entry/login-page.tsx')).LoginPage })),
  '/setup': lazy(async () => ({ default: (await import('./entry/set-up-page.tsx')).SetUpPage })),
  '/app': accountPage,
  '/app/legal': lazy(async () => ({ default: (await import('./legal/legal-page.tsx')).LegalPage })),
  '/app/account': accountPage,
}

/** The address that administrators are given leads to the first page. */
function ToFirstPage() {
  useEffect(() => navigate('/app', { replace: true }), [])
  return null
}
