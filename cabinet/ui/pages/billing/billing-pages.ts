import type { PageGroup } from '../../app/page-group.ts'
import { SoonPage } from '../../app/soon-page.tsx'

export const billingPages: PageGroup<'/app/billing' | '/app/billing/return'> = {
  '/app/billing': SoonPage,
  '/app/billing/return': SoonPage,
}
