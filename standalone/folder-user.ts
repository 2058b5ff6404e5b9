import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const noteOf = (dataDir: string) => join(dataDir, 'pid')

/** Notes in the data folder that this process uses it; returns a function that removes the note. */
export function noteFolderUser(dataDir: string): () => void {
  writeFileSync(noteOf(dataDir), String(process.pid))
  return () => rmSync(noteOf(dataDir), { force: true })
}

/** Id of the running process that uses a data folder. After a `kill -9` it may belong to another process by now. */
export function findFolderUser(dataDir: string): number | undefined {
  try {
    const pid = Number(readFileSync(noteOf(dataDir), 'utf8'))
    process.kill(pid, 0)
    return pid
  } catch {
    return undefined // no note, or nobody
  }
}
