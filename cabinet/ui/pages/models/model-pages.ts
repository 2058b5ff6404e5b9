import type { PageGroup } from '../../app/page-group.ts'
import { SoonPage } from '../../app/soon-page.tsx'

export const modelPages: PageGroup<'/models' | '/models/*'> = {
  '/models': SoonPage,
  '/models/*': SoonPage,
}
