import type { PageGroup } from '../../app/page-group.ts'
import { BillingPage } from './billing-page.tsx'
import { HistoryPage } from './history-page.tsx'
import { PaymentsPage } from './payments-page.tsx'
import { ReturnPage } from './return-page.tsx'

export const billingPages: PageGroup<
  '/app/billing' | '/app/billing/payments' | '/app/billing/history' | '/app/billing/return'
> = {
  '/app/billing': BillingPage,
  '/app/billing/payments': PaymentsPage,
  '/app/billing/history': HistoryPage,
  '/app/billing/return': ReturnPage,
}
