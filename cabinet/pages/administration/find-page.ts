import { type AdministrationPath, administrationRoutes } from '../administration-routes.ts'
import { findRoute } from '../route-table.ts'

const paths = Object.keys(administrationRoutes) as AdministrationPath[]

/** The page of administration at an address; `undefined`: none. Pure. */
export function findAdministrationPage(pathname: string) {
  return findRoute(paths, pathname)
}
