import type { Pool } from 'pg'
import { signDocument } from '../models/catalogue-document.ts'
import { liftCatalogueRevision, readCatalogue, readCatalogueRevision } from '../models/catalogue-store.ts'
import type { Posting } from '../shards/posting.ts'

export type PublishingDeps = {
  readonly pool: Pool
  readonly posting: Posting
  readonly routesSigningKey: string
  /** Told, with each catalogue, of the models that nobody can call because they have no price. */
  readonly onUnpriced: (models: readonly string[]) => void
}

/**
 * Makes the catalogue in Redis the one in Postgres. Any number of workers may do so at once.
 *
 * Gateways only follow higher revisions. Where Redis has a higher one than Postgres, Postgres has lost it (a restore),
 * and goes on above it.
 */
export async function publishCatalogue(deps: PublishingDeps): Promise<void> {
  const { pool, posting } = deps
  const published = await posting.readCatalogueRevision()
  const current = await readCatalogueRevision(pool) // after Redis: whatever was published then had been committed here
  if (published === current) return
  if (published !== null && published > current) await liftCatalogueRevision(pool, published)
  const { revision, providers, routes, unpriced } = await readCatalogue(pool)
  const sign = (document: object) => signDocument(JSON.stringify(document), deps.routesSigningKey)
  const documents = new Map([
    ...providers.map((provider) => [`provider:${provider.name}`, sign(provider)] as const),
    ...routes.map((route) => [`route:${route.model}`, sign(route)] as const),
  ])
  await posting.publishCatalogue(revision, documents)
  deps.onUnpriced(unpriced)
}
