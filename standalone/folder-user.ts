import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const noteOf = (dataDir: string) => join(dataDir, 'pid')

/**
 * Closes to other users anything that an older version left open in a data folder. New files are closed from the
 * start.
 */
export function closeToOthers(dataDir: string): void {
  const modes = { log: 0o600, pid: 0o600, database: 0o600, databases: 0o700, redis: 0o700, keys: 0o700 }
  for (const [name, mode] of Object.entries(modes))
    if (existsSync(join(dataDir, name))) chmodSync(join(dataDir, name), mode)
}

/** Records in the data folder that this process uses it. Returns a function that removes the record. */
export function noteFolderUser(dataDir: string): () => void {
  writeFileSync(noteOf(dataDir), String(process.pid), { mode: 0o600 })
  return () => rmSync(noteOf(dataDir), { force: true })
}

/** ID of the running process that uses a data folder. After a `kill -9`, the ID may belong to another process. */
export function findFolderUser(dataDir: string): number | undefined {
  try {
    const pid = Number(readFileSync(noteOf(dataDir), 'utf8'))
    process.kill(pid, 0)
    return pid
  } catch {
    return undefined // no record, or no such process
  }
}
