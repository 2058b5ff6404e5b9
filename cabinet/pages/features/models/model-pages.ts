import type { PageGroup } from '../../app/page-group.ts'
import { ModelPage } from './model-page.tsx'
import { ModelsPage } from './models-page.tsx'

export const modelPages: PageGroup<'/models' | '/models/*'> = {
  '/models': ModelsPage,
  '/models/*': ModelPage,
}
