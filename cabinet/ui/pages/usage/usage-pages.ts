import type { PageGroup } from '../../app/page-group.ts'
import { SoonPage } from '../../app/soon-page.tsx'

export const usagePages: PageGroup<'/app/usage' | '/app/requests' | '/app/requests/:request_id'> = {
  '/app/usage': SoonPage,
  '/app/requests': SoonPage,
  '/app/requests/:request_id': SoonPage,
}
