import type { PageGroup } from '../../app/page-group.ts'
import { SoonPage } from '../../app/soon-page.tsx'

export const legalPages: PageGroup<'/legal' | '/legal/:kind' | '/legal/:kind/:version'> = {
  '/legal': SoonPage,
  '/legal/:kind': SoonPage,
  '/legal/:kind/:version': SoonPage,
}
