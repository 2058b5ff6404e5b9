import { isDeepStrictEqual } from 'node:util'
import { Superseded } from '#core/audit/cluster-epoch'
import type { ClusterClient } from '../runtime/cluster-client.ts'
import { type ClusterObject, keyOf } from '../runtime/cluster-object.ts'
import { conditionsOf, mergeConditions } from '../runtime/conditions.ts'
import type { Resource } from '../runtime/resources.ts'
import { databaseRefusal } from './database-refusal.ts'
import { deleting } from './deleting.ts'
import { statusWithNews } from './status-with-news.ts'
import type { Verdict } from './verdict.ts'

/** The conditions of an object by type, and the other fields of its status. */
type Saying = {
  readonly verdicts: Readonly<Record<string, Verdict>>
  readonly fields?: object
}

/** Writes statuses, and remembers what it wrote: a copy that was read before a write came back does not count. */
export type StatusWriter = {
  /** Writes the status of an object if it differs: an unchanged object costs no request. */
  write(object: ClusterObject, saying: Saying): Promise<void>
  /**
   * Returns what `looking` resolves to. If it fails, the error is passed on and the status reports it: that
   * the database rejects the object, or, if it has no conditions yet, that they are Unknown.
   *
   * @param types of all its conditions.
   */
  whileLooked<Done>(object: ClusterObject, types: readonly string[], looking: Promise<Done>): Promise<Done>
  /** Writes that an object is being deleted, if it is and finalizers of others keep it. */
  writeDeleting(object: ClusterObject | undefined, types: readonly string[]): Promise<void>
  /** Whether the status of an object differs from what was written last. */
  isForeign(object: ClusterObject): boolean
  forget(key: string): void
}

export function createStatusWriter(
  client: Pick<ClusterClient, 'applyStatus'>,
  resource: Resource,
  now: () => number,
): StatusWriter {
  const written = new Map<string, object>()

  function isForeign(object: ClusterObject): boolean {
    const last = written.get(keyOf(object.metadata))
    return last !== undefined && !isDeepStrictEqual(object.status, last)
  }

  async function put(object: ClusterObject, status: object): Promise<void> {
    if (isDeepStrictEqual(object.status, status) && !isForeign(object)) return
    const key = keyOf(object.metadata)
    written.set(key, status) // before the write, even if it fails: it may take effect without a response
    await client.applyStatus(resource, { ...object, status })
  }

  async function putFailure(object: ClusterObject, types: readonly string[], error: unknown): Promise<void> {
    if (error instanceof Superseded) return // another operator writes statuses now
    const refusal = databaseRefusal(error)
    const news = refusal === undefined ? {} : { Accepted: refusal, Ready: refusal }
    if (refusal !== undefined || conditionsOf(object).length === 0)
      await put(object, statusWithNews(object, types, news, now()))
  }

  return {
    write: (object, saying) => put(object, statusOf(object, saying, now())),
    whileLooked: (object, types, looking) =>
      looking.catch(async (error) => {
        await putFailure(object, types, error).catch(() => undefined) // the first error is why; it is tried again anyway
        throw error
      }),
    async writeDeleting(object, types) {
      if (object?.metadata.deletionTimestamp === undefined) return
      await put(object, statusWithNews(object, types, { Ready: deleting(object) }, now()))
    },
    isForeign,
    forget: (key) => void written.delete(key),
  }
}

function statusOf(object: ClusterObject, { verdicts, fields = {} }: Saying, nowMs: number): object {
  const { generation = 0 } = object.metadata
  const wanted = Object.entries(verdicts).map(([type, verdict]) => ({ type, ...verdict }))
  const conditions = mergeConditions(conditionsOf(object), wanted, { generation, nowMs })
  return { observedGeneration: generation, ...fields, conditions }
}
