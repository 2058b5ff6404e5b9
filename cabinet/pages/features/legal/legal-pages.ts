import type { PageGroup } from '../../app/page-group.ts'
import { DocumentPage } from './document-page.tsx'
import { DocumentsPage } from './documents-page.tsx'

export const legalPages: PageGroup<'/legal' | '/legal/:kind' | '/legal/:kind/:version'> = {
  '/legal': DocumentsPage,
  '/legal/:kind': DocumentPage,
  '/legal/:kind/:version': DocumentPage,
}
