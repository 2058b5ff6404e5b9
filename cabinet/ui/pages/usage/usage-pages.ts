import type { PageGroup } from '../../app/page-group.ts'
import { SoonPage } from '../../app/soon-page.tsx'
import { UsagePage } from './usage-page.tsx'

export const usagePages: PageGroup<'/app/usage' | '/app/requests' | '/app/requests/:request_id'> = {
  '/app/usage': UsagePage,
  '/app/requests': SoonPage,
  '/app/requests/:request_id': SoonPage,
}
