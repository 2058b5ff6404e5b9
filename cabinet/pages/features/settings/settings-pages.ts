import type { PageGroup } from '../../app/page-group.ts'
import { SettingsPage } from './settings-page.tsx'

export const settingsPages: PageGroup<'/app/settings'> = { '/app/settings': SettingsPage }
