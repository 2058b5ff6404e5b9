import { type ComponentType, lazy, useEffect } from 'react'
import { navigate } from 'wouter/use-browser-location'
import type { AdministrationPath } from '../administration-routes.ts'
import type { PageProps } from './page-props.ts'

type Page = ComponentType<PageProps>

const accountPage: Page = lazy(async () => ({
  default: (await import('./account/account-page.tsx')).AccountPage,
}))

/** The page of each route. Each is loaded when it is first shown. */
export const pageOf: Readonly<Record<AdministrationPath, Page>> = {
  '/': ToFirstPage,
  '/login': lazy(async () => ({ default: (await import('./entry/login-page.tsx')).LoginPage })),
  '/setup': lazy(async () => ({ default: (await import('./entry/set-up-page.tsx')).SetUpPage })),
  '/app': lazy(async () => ({ default: (await import('./search/search-page.tsx')).SearchPage })),
  '/app/customers/:organization_id': lazy(async () => ({
    default: (await import('./customer/customer-page.tsx')).CustomerPage,
  })),
  '/app/customers/:organization_id/requests/:request_id': lazy(async () => ({
    default: (await import('./customer/request-page.tsx')).RequestPage,
  })),
  '/app/models': lazy(async () => ({ default: (await import('./catalog/models-page.tsx')).ModelsPage })),
  '/app/models/*': lazy(async () => ({ default: (await import('./catalog/model-page.tsx')).ModelPage })),
  '/app/providers': lazy(async () => ({
    default: (await import('./catalog/providers-page.tsx')).ProvidersPage,
  })),
  '/app/providers/*': lazy(async () => ({
    default: (await import('./catalog/provider-page.tsx')).ProviderPage,
  })),
  '/app/operations': lazy(async () => ({
    default: (await import('./operations/operations-page.tsx')).OperationsPage,
  })),
  '/app/payments': lazy(async () => ({ default: (await import('./money/payments-page.tsx')).PaymentsPage })),
  '/app/approvals': lazy(async () => ({
    default: (await import('./money/approvals-page.tsx')).ApprovalsPage,
  })),
  '/app/differences': lazy(async () => ({
    default: (await import('./money/differences-page.tsx')).DifferencesPage,
  })),
  '/app/webhooks': lazy(async () => ({ default: (await import('./money/webhooks-page.tsx')).WebhooksPage })),
  '/app/audit': lazy(async () => ({ default: (await import('./audit/audit-page.tsx')).AuditPage })),
  '/app/legal': lazy(async () => ({ default: (await import('./legal/legal-page.tsx')).LegalPage })),
  '/app/account': accountPage,
}

/** The address that administrators are given leads to the first page. */
function ToFirstPage() {
  useEffect(() => navigate('/app', { replace: true }), [])
  return null
}
