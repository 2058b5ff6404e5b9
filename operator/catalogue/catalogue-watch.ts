import type { Pool } from 'pg'
import { listOvertaken, type ResourceRef } from '#cabinet/clusters/cluster-resources'
import { type Replica, readReplicas } from '#cabinet/clusters/replicas'
import { orUnavailable } from '#cabinet/db/availability'
import type { Hint } from '#cabinet/db/change-hints'
import { jsonWithBigints } from '#cabinet/ledger/money'
import { createLook } from '../runtime/look.ts'

/** Notices changes to the catalogue by others, and what the gateways report. */
export type CatalogueWatch = {
  /** The live gateways as of the last check. The first call may throw. */
  replicas(): Promise<readonly Replica[]>
  hinted(hint: Hint): void
  start(): void
  stop(): Promise<void>
}

export type CatalogueWatchOptions = {
  readonly pool: Pool
  readonly clusterId: string
  /** Someone else has changed the row of one of our objects. */
  readonly onOvertaken: (ref: ResourceRef) => void
  /** Something in the catalogue has changed, perhaps by us. */
  readonly onCatalogue: () => void
  /**
   * Gateways came or went, serve another revision, or report something else about these providers (`all`: any of
   * them).
   */
  readonly onReplicas: (replicas: readonly Replica[], judged: ReadonlySet<string> | 'all') => void
  /** The database answers again after an outage. */
  readonly onBack: () => void
  readonly onError: (error: unknown) => void
}

/** Between two checks when no hint came. */
const pollMs = 1_000
/** An import of many rows sends many hints, and each check reads everything they could be about. */
const settleMs = 100

export function createCatalogueWatch(options: CatalogueWatchOptions): CatalogueWatch {
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
  const catalogueLook = createLook(async () => {
    for (const ref of await orUnavailable(listOvertaken(pool, clusterId))) options.onOvertaken(ref)
    options.onCatalogue()
  }, onError)
  return {
    replicas: async () => known ?? orUnavailable(readReplicas(pool)),
    hinted(hint) {
      if (hint.kind !== 'changed') replicasLook.soon(0)
      if (hint.kind === 'everything' || hint.what === 'catalogue') catalogueLook.soon(settleMs)
    },
    start() {
      replicasLook.soon(0)
      timers = [setInterval(() => replicasLook.soon(0), pollMs)]
    },
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all([replicasLook.stop(), catalogueLook.stop()])
    },
  }
}

/** Providers about which the gateways no longer report the same. */
function judgedOtherwise(before: readonly Replica[], after: readonly Replica[]): ReadonlySet<string> | 'all' {
  if ((before.length === 0) !== (after.length === 0)) return 'all'
  const said = (replicas: readonly Replica[]) =>
    new Set(replicas.flatMap(({ unhealthy }) => Object.entries(unhealthy).map((entry) => entry.join(' = '))))
  const [old, now] = [said(before), said(after)]
  const changed = [...old, ...now].filter((entry) => !(old.has(entry) && now.has(entry)))
  return new Set(changed.map((entry) => entry.split(' ')[0] ?? ''))
}
