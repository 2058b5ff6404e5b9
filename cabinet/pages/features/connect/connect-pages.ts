import type { PageGroup } from '../../app/page-group.ts'
import { ConnectPage } from './connect-page.tsx'

export const connectPages: PageGroup<'/app/connect'> = { '/app/connect': ConnectPage }
