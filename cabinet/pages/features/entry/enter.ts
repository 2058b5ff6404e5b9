import { navigate } from 'wouter/use-browser-location'
import { queryClient } from '../../api/query-client.ts'
import { nextPage } from '../../navigation/sign-in-again.ts'
import { findPage } from '../../page-routes.ts'

/** Opens the page that a signed-in user came for. @param search of the sign-in page */
export function enter(search: string): void {
  queryClient.clear()
  navigate(nextPage(search, findPage), { replace: true })
}
