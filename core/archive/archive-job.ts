import type { Pool } from 'pg'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Queryable } from '../db/pool.ts'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import type { ArchiveStore } from './archive-store.ts'
import { requestTable } from './internal/archive-table.ts'
import { leaveOldest } from './internal/leave-partition.ts'
import { asOnlyHolder } from './internal/only-holder.ts'
import {
  measureOutbox,
  noteOlder,
  readNoted,
  readNotes,
  removeNotes,
  startNoting,
} from './internal/outbox.ts'

/** A request is in the archive about this long after it was posted. */
const copyEveryMs = 1_000
/** Requests of one copy: about 3 MB of JSON, and one part of ClickHouse's table. */
const copyCountMax = 5_000
const measureEveryMs = 15_000
/** A copy waits 30 s for ClickHouse; a session that is silent for longer belongs to a worker that is frozen or cut off. */
const lockIdleMsDefault = 60_000
/** Advisory lock of the worker that copies. Any fixed number. */
const copyLock = 0x6d67_0064
/** The same of the worker that removes partitions. */
const leaveLock = 0x6d67_0065
/** Both sides are compared day by day, and ClickHouse may take ten minutes for one. */
const leaveIdleMsMax = 900_000
/** A partition is ready to leave once a day or a month; one that waits or differs is compared again. */
const leaveEveryMs = 600_000

type Deps = {
  readonly pool: Pool
  readonly registry: Registry
  readonly log: Log
  /** Postgres ends a session that holds the lock and is silent for so long; then another worker copies. Default 60 s. */
  readonly lockIdleMs?: number
}

/**
 * Copy requests to the archive, one worker at a time. `undefined`: none is configured, and only what waits is measured.
 *
 * A run that is killed is repeated, which writes the same rows again; the archive keeps one of each. Notes are removed
 * only after ClickHouse has confirmed their rows. While it cannot, they wait, and nothing else does.
 */
export function archiveJobs(deps: Deps, store: ArchiveStore | undefined): readonly Job[] {
  const { pool, registry } = deps
  const metrics = createMetrics(registry)
  const measure: Job = {
    name: 'archive_backlog',
    everyMs: measureEveryMs,
    mayFail: true,
    async run() {
      const { count, ageSeconds } = await measureOutbox(pool)
      metrics.waiting.set(count)
      metrics.waitingAge.set(ageSeconds)
      return 'idle'
    },
  }
  return store === undefined ? [measure] : [measure, copyJob(deps, store, metrics)]
}

type LeaveDeps = {
  /** Its statements may take an hour, and one runs at a time. */
  readonly pool: Pool
  /** Its queries may take ten minutes. */
  readonly store: ArchiveStore
  /** Whole days (24 hours) that a partition stays in Postgres after its end; at least 35. */
  readonly keptDays: number
  readonly registry: Registry
  readonly log: Log
  /** How often one run tries to remove a partition while transactions read requests. Default 20. */
  readonly attemptsMax?: number
}

/**
 * Removes partitions of requests from Postgres that the archive has, the oldest first, one worker at a time. A partition that
 * differs stays, and so do all later ones.
 */
export function leaveJob({ pool, store, registry, log, ...options }: LeaveDeps): Job {
  const differs = new Gauge({
    name: 'model_gateway_archive_partition_differs',
    help: '1: the oldest partition of requests stays in Postgres, because ClickHouse has other rows; the log names some. 0 otherwise.',
    registers: [registry],
  })
  return {
    name: 'archive_partitions',
    everyMs: leaveEveryMs,
    retryMsMax: leaveEveryMs,
    mayFail: true,
    async run(stopping) {
      await store.check()
      const holder = { lock: leaveLock, idleMsMax: leaveIdleMsMax }
      const leaving = await asOnlyHolder(pool, holder, (client) =>
        leaveOldest(client, store, options, stopping),
      )
      if (leaving === undefined) return 'idle'
      differs.set(leaving.is === 'different' ? 1 : 0)
      if (leaving.is === 'different')
        log.error(
          { partition: leaving.partition, differences: leaving.differences },
          'a partition of requests differs from the archive, and stays in Postgres',
        )
      if (leaving.is === 'busy')
        log.warn({ partition: leaving.partition }, 'a partition of requests stays for now: it is being read')
      if (leaving.is !== 'left') return 'idle'
      const { partition, requests } = leaving
      log.info({ partition, requests: String(requests) }, 'a partition of requests left Postgres')
      return 'more'
    },
  }
}

function copyJob(
  { pool, log, lockIdleMs = lockIdleMsDefault }: Deps,
  store: ArchiveStore,
  metrics: Metrics,
): Job {
  let isReady = false
  async function makeReady() {
    await store.check()
    if (await startNoting(pool))
      log.info({}, 'archive started; requests from before are copied in the background')
    isReady = true
  }
  const onCopied = (count: number, missing: number) => {
    metrics.copied.inc(count)
    if (missing > 0) log.warn({ requests: missing }, 'requests left Postgres before they were archived')
  }
  return {
    name: 'archive',
    everyMs: copyEveryMs,
    retryMsMax: 30_000,
    mayFail: true,
    async run(_stopping, ending) {
      try {
        if (!isReady) await makeReady()
        const holder = { lock: copyLock, idleMsMax: lockIdleMs }
        const result = await asOnlyHolder(pool, holder, (client) => copyNext(client, store, onCopied, ending))
        metrics.failing.set(0)
        return result ?? 'idle'
      } catch (error) {
        isReady = false // the table may have been changed
        metrics.failing.set(1)
        throw error
      }
    },
  }
}

/** Copies the requests of the oldest notes, then removes the notes. If there are few, notes requests from before the start. */
async function copyNext(
  client: Queryable,
  store: ArchiveStore,
  onCopied: (count: number, missing: number) => void,
  ending: AbortSignal,
): Promise<'more' | 'idle'> {
  const { noteIds, requestIds } = await readNotes(client, copyCountMax)
  if (noteIds.length > 0) {
    const rows = await readNoted(client, requestIds)
    if (rows.length > 0) await store.insert(requestTable, rows, ending)
    await removeNotes(client, noteIds)
    onCopied(rows.length, requestIds.length - rows.length)
  }
  if (requestIds.length >= copyCountMax) return 'more'
  return (await noteOlder(client, copyCountMax)) > 0 ? 'more' : 'idle'
}

type Metrics = ReturnType<typeof createMetrics>

function createMetrics(registry: Registry) {
  const registers = [registry]
  return {
    waiting: new Gauge({
      name: 'model_gateway_archive_waiting',
      help: 'Requests that wait to be copied to ClickHouse; 0 without an archive.',
      registers,
    }),
    waitingAge: new Gauge({
      name: 'model_gateway_archive_waiting_age_seconds',
      help: 'How long the oldest request has waited to be copied to ClickHouse.',
      registers,
    }),
    failing: new Gauge({
      name: 'model_gateway_archive_failing',
      help: '1: the last copy to ClickHouse failed, or its table cannot be used; the log has the reason. 0 otherwise.',
      registers,
    }),
    copied: new Counter({
      name: 'model_gateway_archive_copied_total',
      help: 'Versions of requests copied to ClickHouse. Copies after a failure are counted again.',
      registers,
    }),
  }
}
