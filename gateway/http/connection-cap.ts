import { readFileSync } from 'node:fs'

/** Files for the admin port, Redis, threads, the log and Node itself: what lets a probe in while clients take all they may. */
const reservedFiles = 256

/**
 * How many clients may be connected at once: `wanted`, or fewer if this process may not open enough files.
 * One more is closed at once. Without a cap no client could connect anymore, and probes could not either.
 */
export function readConnectionCap(wanted: number): number {
  return connectionCap(wanted, readOpenFilesMax())
}

/**
 * How many clients may be connected at once: each may need a second connection, to a provider. Pure.
 *
 * @param openFilesMax of this process; `undefined`: not known, or no limit.
 */
export function connectionCap(wanted: number, openFilesMax: number | undefined): number {
  if (openFilesMax === undefined) return wanted
  return Math.max(1, Math.min(wanted, Math.floor((openFilesMax - reservedFiles) / 2)))
}

/** How many files this process may open, if the system reports it (Linux). */
function readOpenFilesMax(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const limit = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}
