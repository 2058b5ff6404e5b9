import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What DATA_DIR has because of what a database has: beside another one it would let dead keys in and hide live ones. */
const parts = ['redis', 'keys', 'manifests.json']

/**
 * Puts in place what belongs to a database. What is there of another one is set aside until that one comes back.
 * Killed anywhere, the next call finishes it.
 *
 * @param databaseId of `readDatabaseId`.
 */
export function placeFilesOf(databaseId: string, dataDir: string): void {
  const marker = join(dataDir, 'database')
  const asideOf = (id: string) => join(dataDir, 'databases', id)
  const before = existsSync(marker) ? readFileSync(marker, 'utf8').trim() : databaseId
  if (before !== databaseId) move(dataDir, asideOf(before))
  writeFileSync(`${marker}.new`, `${databaseId}\n`)
  renameSync(`${marker}.new`, marker)
  move(asideOf(databaseId), dataDir)
}

function move(from: string, to: string): void {
  for (const part of parts) {
    if (!existsSync(join(from, part))) continue
    mkdirSync(to, { recursive: true, mode: 0o700 })
    renameSync(join(from, part), join(to, part))
  }
}
