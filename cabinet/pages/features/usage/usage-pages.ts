import type { PageGroup } from '../../app/page-group.ts'
import { ReceiptPage } from './receipt-page.tsx'
import { RequestsPage } from './requests-page.tsx'
import { UsagePage } from './usage-page.tsx'

export const usagePages: PageGroup<'/app/usage' | '/app/requests' | '/app/requests/:request_id'> = {
  '/app/usage': UsagePage,
  '/app/requests': RequestsPage,
  '/app/requests/:request_id': ReceiptPage,
}
