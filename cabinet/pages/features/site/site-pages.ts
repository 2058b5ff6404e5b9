import type { PageGroup } from '../../app/page-group.ts'
import { StartPage } from './start-page.tsx'

export const sitePages: PageGroup<'/'> = { '/': StartPage }
