import type { PageGroup } from '../../app/page-group.ts'
import { SoonPage } from '../../app/soon-page.tsx'

export const settingsPages: PageGroup<'/app/settings'> = {
  '/app/settings': SoonPage,
}
