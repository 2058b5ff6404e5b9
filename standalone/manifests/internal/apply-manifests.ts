import type { Pool } from 'pg'
import { inScope } from '#core/audit/scope'
import {
  findProvider,
  putPrice,
  putProvider,
  putRoute,
  removeProvider,
  removeRoute,
} from '#core/catalog/catalog-store'
import { sealProvider } from '#core/catalog/provider-resource'
import { dataErrorOf } from '#core/db/data-error'
import { readKeyStates } from '#core/keys/key-state'
import { jsonWithBigints, type NanoRub } from '#core/ledger/money'
import { readOrMakeOrganization } from '#core/organizations/funded-organization'
import type { KeyList } from '#core/process/key-list'
import { type ApplyKeyDeps, applyKey, endKey, manifestScope } from './apply-key.ts'
import { keepOwned, type Owned } from './owned.ts'
import type { DesiredProvider, DesiredRoute, Plan } from './plan-manifests.ts'
import { type OwnKind, subjectOf } from './read-document.ts'
import type { Position, Problem } from './read-folder.ts'

export type ApplyDeps = ApplyKeyDeps & {
  /** 32 bytes. */
  readonly sealingKeys: KeyList<Uint8Array>
  /** Credited once to an organization that is created here. */
  readonly openingBalance: NanoRub
}

/** Routes written in one transaction. */
const routesPerTransaction = 500

/** Applies plans sequentially to a database in which only this process uses these names. */
export type ManifestApplier = {
  /**
   * Applies a plan to the database. Repeated calls write nothing. If killed anywhere, the next call finishes the work:
   * objects are recorded before they are created, and forgotten after they are deleted.
   *
   * Returns the documents that the database rejects. They stay as they were and do not affect others.
   *
   * @param owned the current result of `readOwned`.
   */
  apply(plan: Plan, owned: Owned): Promise<readonly Problem[]>
}

export function createManifestApplier(deps: ApplyDeps): ManifestApplier {
  const { pool, dataDir } = deps
  const organizations = new Map<string, string>()
  /** Routes written by this process. The first pass writes all of them, which changes nothing. */
  const written = new Map<string, string>()

  async function organizationId(name: string): Promise<string> {
    const known = organizations.get(name)
    if (known !== undefined) return known
    const { id } = await inScope(pool, manifestScope(undefined, null), (client) =>
      readOrMakeOrganization(client, name, deps.openingBalance),
    )
    organizations.set(name, id)
    return id
  }

  async function putSomeRoutes(some: readonly DesiredRoute[]): Promise<void> {
    for (const { organizations: names } of some) for (const name of names ?? []) await organizationId(name)
    await inScope(pool, manifestScope(fileOf(some), null), async (client) => {
      for (const { route, price, organizations: names } of some) {
        const ids = names === null ? null : await Promise.all(names.map(organizationId))
        if (price !== null) await putPrice(client, route.model, price)
        await putRoute(client, { ...route, organizations: ids }, price === null ? 'free' : 'priced')
      }
    })
    for (const route of some) written.set(route.route.model, textOf(route))
  }

  async function putRoutes(routes: readonly DesiredRoute[]): Promise<readonly Problem[]> {
    const changed = routes.filter((route) => written.get(route.route.model) !== textOf(route))
    const refused: Problem[] = []
    for (let start = 0; start < changed.length; start += routesPerTransaction) {
      const some = changed.slice(start, start + routesPerTransaction)
      if ((await findRefusal(putSomeRoutes(some))) === undefined) continue
      for (const route of some)
        refused.push(...(await refusalOf('ModelRoute', route.name, route.position, putSomeRoutes([route]))))
    }
    return refused
  }

  return {
    async apply(plan, owned) {
      let now = withDesired(owned, plan)
      keepOwned(dataDir, now)
      const refused: Problem[] = []
      for (const provider of plan.providers) {
        const { name } = provider.draft.document
        refused.push(
          ...(await refusalOf('ModelProvider', name, provider.position, putOneProvider(deps, provider))),
        )
      }
      refused.push(...(await putRoutes(plan.routes)))
      const known = await findKnown(pool, owned)
      for (const key of plan.keys) {
        const put = async () => {
          const id = await organizationId(key.organization)
          const applied = await applyKey(deps, id, key, known[key.name])
          now = { ...now, keys: { ...now.keys, [key.name]: applied } }
        }
        refused.push(...(await refusalOf('ApiKey', key.name, key.position, put())))
        keepOwned(dataDir, now)
      }
      await removeGone(pool, plan.removed, owned)
      for (const model of plan.removed.models) written.delete(model)
      for (const name of plan.removed.keys) await endKey(deps, name, owned.keys[name])
      keepOwned(dataDir, withoutRemoved(now, plan))
      return refused
    },
  }
}

async function putOneProvider(
  { pool, sealingKeys }: ApplyDeps,
  { draft, credential, caCertificates, position }: DesiredProvider,
): Promise<void> {
  const before = await findProvider(pool, draft.document.name)
  const document = sealProvider(draft, { credential, caCertificates }, sealingKeys, before)
  await inScope(pool, manifestScope(position.file, null), (client) => putProvider(client, document))
}

async function removeGone(pool: Pool, { models, providers }: Plan['removed'], owned: Owned): Promise<void> {
  for (const model of models)
    await inScope(pool, manifestScope(owned.routes[model]?.file, null), (client) =>
      removeRoute(client, model),
    )
  for (const name of providers)
    await inScope(pool, manifestScope(owned.providers[name]?.file, null), (client) =>
      removeProvider(client, name),
    )
}

/** The common file of these routes; none if they are in several files. */
function fileOf(routes: readonly DesiredRoute[]): string | undefined {
  const [file, ...others] = new Set(routes.map(({ position }) => position.file))
  return others.length === 0 ? file : undefined
}

/** The owned objects after creation. A key is owned once it has an ID. */
function withDesired(owned: Owned, plan: Plan): Owned {
  const providers = plan.providers.map(
    ({ draft, position: { file } }) => [draft.document.name, { file }] as const,
  )
  const routes = plan.routes.map(
    ({ route, position: { file }, name }) => [route.model, { file, name }] as const,
  )
  return {
    providers: { ...owned.providers, ...Object.fromEntries(providers) },
    routes: { ...owned.routes, ...Object.fromEntries(routes) },
    keys: owned.keys,
  }
}

function withoutRemoved(owned: Owned, { removed }: Plan): Owned {
  return {
    providers: without(owned.providers, removed.providers),
    routes: without(owned.routes, removed.models),
    keys: without(owned.keys, removed.keys),
  }
}

/** The recorded keys that exist in this database. IDs recorded with another database are ignored. */
async function findKnown(pool: Pool, { keys }: Owned): Promise<Owned['keys']> {
  const states = await readKeyStates(
    pool,
    Object.values(keys).map(({ keyId }) => keyId),
  )
  const ids = new Set(states.map(({ keyId }) => keyId))
  return Object.fromEntries(Object.entries(keys).filter(([, { keyId }]) => ids.has(keyId)))
}

/**
 * Postgres's message if it rejected the data.
 * @throws any other error
 */
async function findRefusal(done: Promise<void>): Promise<string | undefined> {
  try {
    await done
    return undefined
  } catch (error) {
    if (dataErrorOf(error) === undefined || !(error instanceof Error)) throw error
    return error.message
  }
}

/**
 * The problem of one document, or none.
 * @throws any other error
 */
async function refusalOf(
  kind: OwnKind,
  name: string,
  position: Position,
  done: Promise<void>,
): Promise<readonly Problem[]> {
  const message = await findRefusal(done)
  if (message === undefined) return []
  const reason = `the database rejected it: ${message}`
  return [{ position, what: `${kind} "${name}"`, reason, about: [subjectOf(kind, name)] }]
}

/** Its stored form, as text. */
function textOf({ route, price, organizations }: DesiredRoute): string {
  return jsonWithBigints({ route, price, organizations })
}

function without<Item>(
  items: Readonly<Record<string, Item>>,
  names: readonly string[],
): Record<string, Item> {
  const gone = new Set(names)
  return Object.fromEntries(Object.entries(items).filter(([name]) => !gone.has(name)))
}
