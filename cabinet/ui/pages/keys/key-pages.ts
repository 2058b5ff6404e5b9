import type { PageGroup } from '../../app/page-group.ts'
import { SoonPage } from '../../app/soon-page.tsx'

export const keyPages: PageGroup<'/app/keys' | '/app/keys/:key_id'> = {
  '/app/keys': SoonPage,
  '/app/keys/:key_id': SoonPage,
}
