import type { Pool } from 'pg'
import type { KeyList } from '../../process/key-list.ts'
import { digestOf, signDocument } from '../catalogue-document.ts'
import { liftCatalogueRevision, readCatalogue, readCatalogueRevision } from '../catalogue-store.ts'
import type { CatalogueCopy } from './published-catalogue.ts'

export type PublishingDeps = {
  readonly pool: Pool
  readonly catalogueCopy: CatalogueCopy
  readonly routesSigningKeys: KeyList<string>
  /** Time between comparisons of everything, whatever changed. */
  readonly compareEveryMs: number
  /** `performance.now`. */
  readonly now: () => number
  /** Called with each catalogue: the models that cannot be called because they have no price. */
  readonly onUnpriced: (models: readonly string[]) => void
  /** Called when the catalogue is numbered above `revision`, because Redis has something else under it than Postgres. */
  readonly onLifted: (revision: bigint) => void
}

/**
 * Copies the catalogue from Postgres to Redis whenever its revision differs; at first, and after `compareEveryMs`, also
 * when its documents differ: one was lost, or the signing key is new. Any number of workers may do so at once.
 *
 * Gateways only follow higher revisions, so a catalogue that differs is published above the revision Redis has. If that
 * is higher than Postgres's own, Postgres has lost it (a restore).
 */
export function createCataloguePublisher(deps: PublishingDeps): () => Promise<void> {
  const { pool, catalogueCopy, now } = deps
  let comparedAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    const isCompared = now() - comparedAtMs < deps.compareEveryMs
    const published = await catalogueCopy.readCatalogue()
    const current = await readCatalogueRevision(pool) // after Redis: whatever was published then had been committed here
    if (published.revision === current && published.followed === current && isCompared) return
    let catalogue = await readSigned(deps)
    if (published.followed > catalogue.revision || differs(published, catalogue)) {
      await liftCatalogueRevision(pool, published.followed)
      deps.onLifted(published.followed)
      catalogue = await readSigned(deps)
    }
    if (published.revision !== catalogue.revision)
      await catalogueCopy.publishCatalogue(catalogue.revision, catalogue.documents)
    deps.onUnpriced(catalogue.unpriced)
    comparedAtMs = now()
  }
}

type SignedCatalogue = {
  readonly revision: bigint
  readonly documents: ReadonlyMap<string, string>
  readonly unpriced: readonly string[]
}

async function readSigned({ pool, routesSigningKeys }: PublishingDeps): Promise<SignedCatalogue> {
  const { revision, providers, routes, unpriced } = await readCatalogue(pool)
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
  published: Awaited<ReturnType<CatalogueCopy['readCatalogue']>>,
  { revision, documents }: SignedCatalogue,
): boolean {
  if (published.revision !== revision) return false
  return published.documentCount !== documents.size || published.digest !== digestOf(documents)
}
