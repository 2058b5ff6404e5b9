import type { Pool, PoolClient } from 'pg'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import type { ArchiveStore } from './archive-store.ts'
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
        const result = await asOnlyCopier(pool, lockIdleMs, (client) =>
          copyNext(client, store, onCopied, ending),
        )
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
  client: PoolClient,
  store: ArchiveStore,
  onCopied: (count: number, missing: number) => void,
  ending: AbortSignal,
): Promise<'more' | 'idle'> {
  const { noteIds, requestIds } = await readNotes(client, copyCountMax)
  if (noteIds.length > 0) {
    const rows = await readNoted(client, requestIds)
    if (rows.length > 0) await store.insert(rows, ending)
    await removeNotes(client, noteIds)
    onCopied(rows.length, requestIds.length - rows.length)
  }
  if (requestIds.length >= copyCountMax) return 'more'
  return (await noteOlder(client, copyCountMax)) > 0 ? 'more' : 'idle'
}

/** Does `work` on one connection that holds the lock, in no transaction; `undefined`: another worker copies. */
async function asOnlyCopier<Answer>(
  pool: Pool,
  lockIdleMs: number,
  work: (client: PoolClient) => Promise<Answer>,
): Promise<Answer | undefined> {
  const client = await pool.connect()
  let isBroken = true
  try {
    const { rows } = await client.query<{ isMine: boolean }>('select pg_try_advisory_lock($1) as "isMine"', [
      copyLock,
    ])
    if (rows[0]?.isMine !== true) {
      isBroken = false
      return undefined
    }
    try {
      await client.query(`set idle_session_timeout = ${lockIdleMs}`)
      return await work(client)
    } finally {
      await client.query('reset idle_session_timeout')
      await client.query('select pg_advisory_unlock($1)', [copyLock])
      isBroken = false
    }
  } finally {
    client.release(isBroken) // closing the connection releases the lock too
  }
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
