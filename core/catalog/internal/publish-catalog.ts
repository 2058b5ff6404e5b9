import type { Pool } from 'pg'
import type { KeyList } from '../../process/key-list.ts'
import { digestOf, signDocument } from '../catalog-document.ts'
import { liftCatalogRevision, readCatalog, readCatalogRevision } from '../catalog-store.ts'
import type { CatalogCopy } from './published-catalog.ts'

export type PublishingDeps = {
  readonly pool: Pool
  readonly catalogCopy: CatalogCopy
  readonly routesSigningKeys: KeyList<string>
  /** Time between comparisons of everything, whatever changed. */
  readonly compareEveryMs: number
  /** `performance.now`. */
  readonly now: () => number
  /** Called with each catalog: the models that cannot be called because they have no price. */
  readonly onUnpriced: (models: readonly string[]) => void
  /** Called when the catalog is numbered above `revision`, because Redis has something else under it than Postgres. */
  readonly onLifted: (revision: bigint) => void
}

/**
 * Copies the catalog from Postgres to Redis whenever its revision differs; at first, and after `compareEveryMs`, also
 * when its documents differ: one was lost, or the signing key is new. Any number of workers may do so at once.
 *
 * Gateways only follow higher revisions, so a catalog that differs is published above the revision Redis has. If that
 * is higher than Postgres's own, Postgres has lost it (a restore).
 */
export function createCatalogPublisher(deps: PublishingDeps): () => Promise<void> {
  const { pool, catalogCopy, now } = deps
  let comparedAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    const isCompared = now() - comparedAtMs < deps.compareEveryMs
    const published = await catalogCopy.readCatalog()
    const current = await readCatalogRevision(pool) // after Redis: whatever was published then had been committed here
    if (published.revision === current && published.followed === current && isCompared) return
    let catalog = await readSigned(deps)
    if (published.followed > catalog.revision || differs(published, catalog)) {
      await liftCatalogRevision(pool, published.followed)
      deps.onLifted(published.followed)
      catalog = await readSigned(deps)
    }
    if (published.revision !== catalog.revision)
      await catalogCopy.publishCatalog(catalog.revision, catalog.documents)
    deps.onUnpriced(catalog.unpriced)
    comparedAtMs = now()
  }
}

type SignedCatalog = {
  readonly revision: bigint
  readonly documents: ReadonlyMap<string, string>
  readonly unpriced: readonly string[]
}

async function readSigned({ pool, routesSigningKeys }: PublishingDeps): Promise<SignedCatalog> {
  const { revision, providers, routes, unpriced } = await readCatalog(pool)
  const sign = (document: object) =>
    signDocument(JSON.stringify(document), String(revision), routesSigningKeys)
  const documents = new Map([
    ...providers.map((provider) => [`provider:${provider.name}`, sign(provider)] as const),
    ...routes.map((route) => [`route:${route.model}`, sign(route)] as const),
  ])
  return { revision, documents, unpriced }
}

/** Whether one revision has other documents in Redis than in Postgres. */
function differs(
  published: Awaited<ReturnType<CatalogCopy['readCatalog']>>,
  { revision, documents }: SignedCatalog,
): boolean {
  if (published.revision !== revision) return false
  return published.documentCount !== documents.size || published.digest !== digestOf(documents)
}
