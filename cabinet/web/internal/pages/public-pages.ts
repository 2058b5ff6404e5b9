import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { PublicCatalog } from '../../../catalog/public-catalog.ts'
import { type BuiltPublicPages, builtPublicPagesFile } from '../../../pages/built-public-pages.ts'
import type { RouteTable } from '../../../pages/route-table.ts'
import { findFile } from './built-pages.ts'
import { serveCrawlers } from './crawlers.ts'
import { type OwnAddresses, serveDocs } from './docs-pages.ts'
import { type ProblemOfError, serveModelPages } from './model-pages.ts'
import { createPublicSender } from './public-sender.ts'

export type PublicPages = {
  readonly addresses: OwnAddresses
  /** Public addresses that only the process knows: of documents, of models. */
  readonly listMore: () => Promise<readonly string[]>
  readonly catalog: PublicCatalog
}

/** Serves the prerendered pages of a build, if there is one, and the lists of all public pages. */
export function servePublicPages(
  app: FastifyInstance,
  {
    folder,
    routes,
    addresses,
    listMore,
    catalog,
    problemOf,
  }: PublicPages & {
    readonly folder: string
    readonly routes: RouteTable
    readonly problemOf: ProblemOfError
  },
): void {
  const file = findFile(join(folder, builtPublicPagesFile))
  if (file === undefined) return
  const { assets, docs } = JSON.parse(file.toString()) as BuiltPublicPages
  const send = createPublicSender(app, { origin: addresses.cabinet, assets })
  serveDocs(app, docs, { send, addresses })
  serveModelPages(app, { catalog, send, problemOf, gatewayBaseUrl: `${addresses.gateway}/v1` })
  serveCrawlers(app, { origin: addresses.cabinet, docs, routes, listMore })
}
