import type { Pool } from 'pg'
import { listOvertaken, type ResourceRef } from '#core/clusters/cluster-resources'
import { type Replica, readReplicas } from '#core/clusters/replicas'
import { orUnavailable } from '#core/db/availability'
import type { Hint } from '#core/db/change-hints'
import { jsonWithBigints } from '#core/ledger/money'
import { createLook } from '../runtime/look.ts'

/** Notices changes to the catalog by others, and what the gateways report. */
export type CatalogWatch = {
  /** The live gateways as of the last check. The first call may throw. */
  replicas(): Promise<readonly Replica[]>
  hinted(hint: Hint): void
  start(): void
  stop(): Promise<void>
}

export type CatalogWatchOptions = {
  readonly pool: Pool
  readonly clusterId: string
  /** Someone else has changed the row of one of our objects. */
  readonly onOvertaken: (ref: ResourceRef) => void
  /** Something in the catalog has changed, perhaps by us. */
  readonly onCatalog: () => void
  /**
   * Gateways joined or left, serve another revision, or changed their reports about these providers (`all`:
   * any of them): `failing`, their failures; `answering`, whether they respond.
   */
  readonly onReplicas: (replicas: readonly Replica[], judged: Judged) => void
  /** The database answers again after an outage. */
  readonly onBack: () => void
  readonly onError: (error: unknown) => void
}

/** Providers by name. */
export type Judged =
  | { readonly failing: ReadonlySet<string>; readonly answering: ReadonlySet<string> }
  | 'all'

/** Between two checks when no hint came. */
const pollMs = 1_000
/** An import of many rows sends many hints, and each check reads everything they could be about. */
const settleMs = 100

export function createCatalogWatch(options: CatalogWatchOptions): CatalogWatch {
  const { pool, clusterId, onError } = options
  let known: readonly Replica[] | undefined
  let isAway = false
  let timers: readonly NodeJS.Timeout[] = []
  const replicasLook = createLook(async () => {
    const wasAway = isAway
    isAway = true
    const replicas = await orUnavailable(readReplicas(pool))
    isAway = false
    if (wasAway) options.onBack()
    const before = known ?? []
    known = replicas
    if (jsonWithBigints(before) !== jsonWithBigints(replicas))
      options.onReplicas(replicas, judgedOtherwise(before, replicas))
  }, onError)
  const catalogLook = createLook(async () => {
    for (const ref of await orUnavailable(listOvertaken(pool, clusterId))) options.onOvertaken(ref)
    options.onCatalog()
  }, onError)
  return {
    replicas: async () => known ?? orUnavailable(readReplicas(pool)),
    hinted(hint) {
      if (hint.kind !== 'changed') replicasLook.soon(0)
      if (hint.kind === 'everything' || hint.what === 'catalogue') catalogLook.soon(settleMs)
    },
    start() {
      replicasLook.soon(0)
      timers = [setInterval(() => replicasLook.soon(0), pollMs)]
    },
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all([replicasLook.stop(), catalogLook.stop()])
    },
  }
}

/** Providers about which the gateways no longer report the same. */
function judgedOtherwise(before: readonly Replica[], after: readonly Replica[]): Judged {
  if ((before.length === 0) !== (after.length === 0)) return 'all'
  const failing = changeOf(before, after, ({ unhealthy }) =>
    Object.entries(unhealthy).map((entry) => entry.join(' = ')),
  )
  return {
    failing: new Set([...failing].map((entry) => entry.split(' ')[0] ?? '')),
    answering: changeOf(before, after, ({ answering }) => answering),
  }
}

/** The reports that only one of two sets of gateways has. */
function changeOf(
  before: readonly Replica[],
  after: readonly Replica[],
  saidBy: (replica: Replica) => readonly string[],
): ReadonlySet<string> {
  const [old, now] = [new Set(before.flatMap(saidBy)), new Set(after.flatMap(saidBy))]
  return new Set([...old, ...now].filter((each) => !(old.has(each) && now.has(each))))
}
