import type { PageGroup } from '../../app/page-group.ts'
import { BillingPage } from './billing-page.tsx'
import { ReturnPage } from './return-page.tsx'

export const billingPages: PageGroup<'/app/billing' | '/app/billing/return'> = {
  '/app/billing': BillingPage,
  '/app/billing/return': ReturnPage,
}
