import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type BuiltPublicPages, builtPublicPagesFile } from '../../../pages/built-public-pages.ts'
import { findFile } from './built-pages.ts'
import { type OwnAddresses, serveDocs } from './docs-pages.ts'
import { createPublicSender } from './public-sender.ts'

/** Serves the prerendered pages of a build, if there is one. */
export function servePublicPages(app: FastifyInstance, folder: string, addresses: OwnAddresses): void {
  const file = findFile(join(folder, builtPublicPagesFile))
  if (file === undefined) return
  const { assets, docs } = JSON.parse(file.toString()) as BuiltPublicPages
  const send = createPublicSender(app, { origin: addresses.cabinet, assets })
  serveDocs(app, docs, { send, addresses })
}
