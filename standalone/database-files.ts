import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** State of the test payment provider, with this database's payments. */
export const tillFile = 'till.jsonl'

/**
 * Parts of DATA_DIR that belong to one database. With another database, revoked keys would work and valid ones would
 * not.
 */
const parts = ['redis', 'keys', 'manifests.json', tillFile]

/**
 * Puts the files of this database in place. Files of another database are moved aside until that database is used
 * again. If killed anywhere, the next call finishes the work.
 *
 * @param databaseId from `readDatabaseId`.
 */
export function placeFilesOf(databaseId: string, dataDir: string): void {
  const marker = join(dataDir, 'database')
  const asideOf = (id: string) => join(dataDir, 'databases', id)
  const before = existsSync(marker) ? readFileSync(marker, 'utf8').trim() : databaseId
  if (before !== databaseId) move(dataDir, asideOf(before))
  writeFileSync(`${marker}.new`, `${databaseId}\n`, { mode: 0o600 })
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
