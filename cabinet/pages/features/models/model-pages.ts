import type { PageGroup } from '../../app/page-group.ts'
import { ComparePage } from './compare-page.tsx'
import { ModelPage } from './model-page.tsx'
import { ModelsPage } from './models-page.tsx'

type Path =
  | '/models'
  | '/models/compare'
  | '/models/*'
  | '/app/models'
  | '/app/models/compare'
  | '/app/models/*'

export const modelPages: PageGroup<Path> = {
  '/models': ModelsPage,
  '/models/compare': ComparePage,
  '/models/*': ModelPage,
  '/app/models': ModelsPage,
  '/app/models/compare': ComparePage,
  '/app/models/*': ModelPage,
}
