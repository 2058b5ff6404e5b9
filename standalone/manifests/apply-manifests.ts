import type { Pool } from 'pg'
import {
  findProvider,
  putPrice,
  putProvider,
  putRoute,
  removeProvider,
  removeRoute,
} from '#cabinet/catalogue-store'
import {
  blockKey,
  createKey,
  findKeyNamed,
  revokeKey,
  rotateKey,
  unblockKey,
  updateKeyLimits,
} from '#cabinet/key-store'
import type { NanoRub } from '#cabinet/money'
import { sealProvider } from '#cabinet/provider-resource'
import { inTransaction } from '#cabinet/transaction'
import { findKeptKey, forgetKey, keepKey } from '../key-file.ts'
import { readOrMakeOrganization } from '../organization.ts'
import { keepOwned, type Owned } from './owned.ts'
import type { DesiredKey, DesiredRoute, Plan } from './plan-manifests.ts'

export type ApplyDeps = {
  readonly pool: Pool
  readonly dataDir: string
  readonly keyPepper: string
  /** 32 bytes. */
  readonly sealingKey: Uint8Array
  /** Given once to an organization that is made here. */
  readonly trialBalance: NanoRub
  /** Hears the value of a key when it is made; nobody can say it again. */
  readonly onKeyValue: (name: string, value: string) => void
}

/** Routes that are written in one transaction. */
const routesPerTransaction = 500

/** Applies plans, one after the other, to a database that nobody else gives these names to. */
export type ManifestApplier = {
  /**
   * Brings the database to what a plan asks for. The same again writes nothing. Killed anywhere, the next call
   * finishes it: what is owned is noted before it is made, and forgotten after it is gone.
   */
  apply(plan: Plan, owned: Owned): Promise<Owned>
}

export function createManifestApplier(deps: ApplyDeps): ManifestApplier {
  const { pool, dataDir } = deps
  const organizations = new Map<string, string>()
  /** Routes as this process has written them; a first look writes them all, which changes nothing. */
  const written = new Map<string, string>()

  async function organizationId(name: string): Promise<string> {
    const known = organizations.get(name)
    if (known !== undefined) return known
    const id = await readOrMakeOrganization(pool, name, deps.trialBalance)
    organizations.set(name, id)
    return id
  }

  async function putRoutes(routes: readonly DesiredRoute[]): Promise<void> {
    const changed = routes.filter((route) => written.get(route.route.model) !== textOf(route))
    for (let start = 0; start < changed.length; start += routesPerTransaction) {
      const some = changed.slice(start, start + routesPerTransaction)
      for (const { organizations: names } of some) for (const name of names ?? []) await organizationId(name)
      await inTransaction(pool, async (client) => {
        for (const { route, price, organizations: names } of some) {
          const ids = names === null ? null : await Promise.all(names.map(organizationId))
          if (price !== null) await putPrice(client, route.model, price)
          await putRoute(client, { ...route, organizations: ids }, price === null ? 'free' : 'priced')
        }
      })
      for (const route of some) written.set(route.route.model, textOf(route))
    }
  }

  async function putKey(desired: DesiredKey, before: Owned['keys'][string] | undefined) {
    const { name, organization, rotationTrigger } = desired
    const organizationOfKey = await organizationId(organization)
    const keyId = before?.keyId ?? (await adoptOrMake(deps, organizationOfKey, desired))
    await updateKeyLimits(pool, keyId, desired.limits)
    if (desired.suspended) await blockKey(pool, keyId, 'kubernetes')
    else await unblockKey(pool, keyId, 'kubernetes')
    if (before !== undefined && rotationTrigger !== null && before.rotationTrigger !== rotationTrigger)
      keep(deps, name, (await rotateKey(pool, keyId, desired.rotationGraceS, deps.keyPepper)).key)
    const { file, deletionPolicy } = desired
    return { file, keyId, organization, rotationTrigger, deletionPolicy }
  }

  return {
    async apply(plan, owned) {
      const providers = plan.providers.map(({ draft, file }) => [draft.document.name, { file }] as const)
      const routes = plan.routes.map(({ route, file, name }) => [route.model, { file, name }] as const)
      let now: Owned = {
        providers: { ...owned.providers, ...Object.fromEntries(providers) },
        routes: { ...owned.routes, ...Object.fromEntries(routes) },
        keys: owned.keys,
      }
      keepOwned(dataDir, now)
      for (const { draft, credential, caCertificates } of plan.providers) {
        const before = await findProvider(pool, draft.document.name)
        await putProvider(pool, sealProvider(draft, { credential, caCertificates }, deps.sealingKey, before))
      }
      await putRoutes(plan.routes)
      for (const key of plan.keys) {
        now = { ...now, keys: { ...now.keys, [key.name]: await putKey(key, owned.keys[key.name]) } }
        keepOwned(dataDir, now)
      }
      for (const model of plan.removed.models) {
        await removeRoute(pool, model)
        written.delete(model)
      }
      for (const name of plan.removed.providers) await removeProvider(pool, name)
      for (const name of plan.removed.keys) await endKey(deps, name, owned.keys[name])
      now = {
        providers: without(now.providers, plan.removed.providers),
        routes: without(now.routes, plan.removed.models),
        keys: without(now.keys, plan.removed.keys),
      }
      keepOwned(dataDir, now)
      return now
    },
  }
}

/** The id of the key, which has a value that somebody knows. */
async function adoptOrMake(deps: ApplyDeps, organizationId: string, { name }: DesiredKey): Promise<string> {
  const { pool, dataDir, keyPepper } = deps
  const owner = { organizationId, name, managedBy: 'kubernetes' } as const
  const left = await findKeyNamed(pool, owner)
  if (left === undefined) {
    const { keyId, key } = await createKey(pool, owner, keyPepper)
    keep(deps, name, key)
    return keyId
  }
  // Made by a run that died. Where it could not keep the value, nobody has seen it.
  if (findKeptKey(dataDir, name) === undefined)
    keep(deps, name, (await rotateKey(pool, left, 0, keyPepper)).key)
  return left
}

function keep({ dataDir, onKeyValue }: ApplyDeps, name: string, value: string): void {
  keepKey(dataDir, name, value)
  onKeyValue(name, value)
}

/** An orphan goes on working and keeps its file; it is nobody's resource any more. */
async function endKey(
  { pool, dataDir }: ApplyDeps,
  name: string,
  key: Owned['keys'][string] | undefined,
): Promise<void> {
  if (key?.deletionPolicy !== 'Revoke') return
  await revokeKey(pool, key.keyId)
  forgetKey(dataDir, name)
}

function textOf(route: DesiredRoute): string {
  return JSON.stringify(route, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

function without<Item>(
  items: Readonly<Record<string, Item>>,
  names: readonly string[],
): Record<string, Item> {
  const gone = new Set(names)
  return Object.fromEntries(Object.entries(items).filter(([name]) => !gone.has(name)))
}
