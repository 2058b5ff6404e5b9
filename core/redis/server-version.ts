/** The first releases with atomic slot migration: the older one stops scripts halfway. */
const atomicSince = { valkey: [9, 0], redis: [8, 4] } as const

/** What `INFO server` shows of a server's program. */
export type ServerVersion = {
  readonly engine: keyof typeof atomicSince
  /** `Valkey 9.1.2`. */
  readonly name: string
  /** Whether it moves slots atomically. */
  readonly movesAtomically: boolean
}

/** Reads `INFO server`. */
export function serverVersionOf(info: string): ServerVersion {
  const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1]
  const engine = valkey === undefined ? 'redis' : 'valkey'
  const version = valkey ?? /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of an unknown version'
  const [majorMin, minorMin] = atomicSince[engine]
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return {
    engine,
    name: `${engine === 'valkey' ? 'Valkey' : 'Redis'} ${version}`,
    movesAtomically: major > majorMin || (major === majorMin && minor >= minorMin),
  }
}
