import { setTimeout as pause } from 'node:timers/promises'
import type { Admission } from '#cabinet/admission'
import { refusedUnseen } from '#cabinet/admission-reply'
import type { RedisConnection } from '#cabinet/redis-connection'

/** Share of `maxmemory` from which on nothing is admitted, so that what runs can always be booked. */
const fullShare = 0.85
const lookEveryMs = 1_000

/** Knows whether Redis has room for more requests. */
export type MemoryWatch = { isNearlyFull(): boolean; stop(): void }

/** Whether `INFO memory` tells of a server without room for more; one without `maxmemory` never is. */
export function isNearlyFull(info: string): boolean {
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0)
  const most = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0)
  return most > 0 && used >= fullShare * most
}

/**
 * Looks at Redis's memory each second. Not in the scripts: INFO costs as much as an admission.
 *
 * While Redis does not answer the last look counts; then nothing is admitted anyway.
 */
export function watchMemory(connection: RedisConnection, onError: (error: unknown) => void): MemoryWatch {
  const stopping = new AbortController()
  const { signal } = stopping
  let isFull = false

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      try {
        isFull = isNearlyFull(await connection.ask((redis) => redis.info('memory')))
      } catch (error) {
        onError(error)
      }
      await pause(lookEveryMs, undefined, { signal }).catch(() => undefined) // stopped
    }
  }

  void follow()
  return { isNearlyFull: () => isFull, stop: () => stopping.abort() }
}

/** The same admission, which admits nothing while `isClosed`; whatever releases or books goes on. */
export function admitUnless(isClosed: () => boolean, admission: Admission): Admission {
  return {
    ...admission,
    admit: (request) => (isClosed() ? Promise.resolve(refusedUnseen) : admission.admit(request)),
  }
}
