import { setTimeout as pause } from 'node:timers/promises'
import type { Admission } from '#core/admission/admission'
import { refusedUnseen } from '#core/admission/admission-reply'
import type { Log } from '#core/process/log'
import type { RedisConnection, RedisServers } from '#core/redis/redis-connection'
import type { Shard } from '#core/redis/shard'

/** Share of `maxmemory` from which on nothing is admitted, so that what runs can always be posted. */
const fullShare = 0.85
/** Share from which on no rejection is listed: lists must never keep requests out. */
const listsShare = 0.5
const lookEveryMs = 1_000

const evictionWarning =
  'Redis may evict holds and charges once it is full. Set its maxmemory-policy to noeviction'
const fileWarning =
  'Redis has no append-only file: a restart may lose holds and charges. Set its appendonly to yes'

/** The state of the memory of Redis, as last seen: of all its servers unless a shard is named. */
export type MemoryWatch = {
  /** Whether a server, or that of this shard, has no room for more requests. */
  isNearlyFull(shard?: Shard): boolean
  /** Whether the server of this shard has memory for lists of rejections. */
  mayList(shard: Shard): boolean
  /** Whether it throws data away once it is full: money would be lost. */
  mayEvict(): boolean
  /** Whether it loses all it has when it restarts. */
  keepsNoFile(): boolean
  stop(): void
}

/** Whether `INFO memory` shows a server without room for more; one without `maxmemory` never is. */
export function isNearlyFull(info: string): boolean {
  return isUsed(fullShare, info)
}

/** The same for lists of rejections. */
export function isFullForLists(info: string): boolean {
  return isUsed(listsShare, info)
}

function isUsed(share: number, info: string): boolean {
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0)
  return used >= share * limitOf(info)
}

/** Whether `INFO memory` shows a server with a limit that it keeps by evicting keys. */
export function mayEvict(info: string): boolean {
  return limitOf(info) < Number.POSITIVE_INFINITY && /^maxmemory_policy:(?!noeviction)/m.test(info)
}

/** Whether `INFO persistence` shows a server without an append-only file. */
export function keepsNoFile(info: string): boolean {
  return /^aof_enabled:0/m.test(info)
}

function limitOf(info: string): number {
  return Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0) || Number.POSITIVE_INFINITY
}

/**
 * Looks at Redis's memory each second, and warns once of each setting that may lose money. Not in the scripts: INFO costs as
 * much as an admission. `INFO` and not `CONFIG GET`, which managed servers hide.
 *
 * While Redis does not answer the last look counts; then nothing is admitted anyway.
 */
export function watchMemory(
  redis: Pick<RedisServers, 'connectionOf' | 'servers'>,
  log: Pick<Log, 'warn'>,
  onError: (error: unknown) => void,
): MemoryWatch {
  const stopping = new AbortController()
  const { signal } = stopping
  const seenOf = new WeakMap<RedisConnection, Seen>() // each admission asks
  const seen = (connection: RedisConnection) => seenOf.get(connection) ?? nothingSeen

  async function look(connection: RedisConnection): Promise<void> {
    try {
      const info = await connection.ask((commands) => commands.info('memory', 'persistence'))
      const found = {
        isNearlyFull: isNearlyFull(info),
        isFullForLists: isFullForLists(info),
        mayEvict: mayEvict(info),
        keepsNoFile: keepsNoFile(info),
      }
      const before = seen(connection)
      if (found.mayEvict && !before.mayEvict) log.warn({}, evictionWarning)
      if (found.keepsNoFile && !before.keepsNoFile) log.warn({}, fileWarning)
      seenOf.set(connection, found)
    } catch (error) {
      onError(error)
    }
  }

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      await Promise.all(redis.servers().map(look))
      await pause(lookEveryMs, undefined, { signal }).catch(() => undefined) // stopped
    }
  }

  void follow()
  const some = (is: keyof Seen) => redis.servers().some((connection) => seen(connection)[is])
  return {
    isNearlyFull: (shard) =>
      shard === undefined ? some('isNearlyFull') : seen(redis.connectionOf(shard)).isNearlyFull,
    mayList: (shard) => !seen(redis.connectionOf(shard)).isFullForLists,
    mayEvict: () => some('mayEvict'),
    keepsNoFile: () => some('keepsNoFile'),
    stop: () => stopping.abort(),
  }
}

/** The state of one server's memory. */
type Seen = Readonly<Record<'isNearlyFull' | 'isFullForLists' | 'mayEvict' | 'keepsNoFile', boolean>>

const nothingSeen: Seen = { isNearlyFull: false, isFullForLists: false, mayEvict: false, keepsNoFile: false }

/** The same admission, which admits nothing to a shard while it `isClosed`; releasing and posting continue. */
export function admitUnless(isClosed: (shard: Shard) => boolean, admission: Admission): Admission {
  return {
    ...admission,
    admit: (request) => (isClosed(request.shard) ? Promise.resolve(refusedUnseen) : admission.admit(request)),
  }
}
