import type { PageGroup } from '../../app/page-group.ts'
import { KeyPage } from './key-page.tsx'
import { KeysPage } from './keys-page.tsx'

export const keyPages: PageGroup<'/app/keys' | '/app/keys/:key_id'> = {
  '/app/keys': KeysPage,
  '/app/keys/:key_id': KeyPage,
}
