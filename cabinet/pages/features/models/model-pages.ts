import type { PageGroup } from '../../app/page-group.ts'
import { ComparePage } from './compare-page.tsx'
import { ModelPage } from './model-page.tsx'
import { ModelsPage } from './models-page.tsx'

/** In the cabinet's frame. Visitors have documents: `model-documents.ts`. */
export const modelPages: PageGroup<'/app/models' | '/app/models/compare' | '/app/models/*'> = {
  '/app/models': ModelsPage,
  '/app/models/compare': ComparePage,
  '/app/models/*': ModelPage,
}
