import type { PageGroup } from '../../app/page-group.ts'
import { OverviewPage } from './overview-page.tsx'

export const overviewPages: PageGroup<'/app'> = { '/app': OverviewPage }
