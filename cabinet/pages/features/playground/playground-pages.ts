import type { PageGroup } from '../../app/page-group.ts'
import { PlaygroundPage } from './playground-page.tsx'

export const playgroundPages: PageGroup<'/app/playground'> = { '/app/playground': PlaygroundPage }
