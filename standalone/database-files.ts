import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the till remembers: payments that this database has. */
export const tillFile = 'till.jsonl'

/** Parts of DATA_DIR that belong to one database: next to another one, revoked keys would work and valid ones would not. */
const parts = ['redis', 'keys', 'manifests.json', tillFile]

/**
 * Puts the files of this database in place. Those of another one are moved aside until that one comes back. If it is
 * killed anywhere, the next call finishes it.
 *
 * @param databaseId of `readDatabaseId`.
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
