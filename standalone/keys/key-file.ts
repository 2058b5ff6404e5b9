import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Not the name of a key: those begin with a letter or a digit. It is short, because key names may be as long as file
 * systems allow.
 */
const unfinishedName = '.new'

/** The secret of a key, if the data folder has it. */
export function findKeptKey(dataDir: string, name: string): string | undefined {
  const file = fileOf(dataDir, name)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/** Stores the secret of a key in the data folder, readable only by its owner. The write is atomic. */
export function keepKey(dataDir: string, name: string, secret: string): void {
  mkdirSync(join(dataDir, 'keys'), { recursive: true, mode: 0o700 })
  const unfinished = fileOf(dataDir, unfinishedName)
  writeFileSync(unfinished, `${secret}\n`, { mode: 0o600 })
  renameSync(unfinished, fileOf(dataDir, name))
}

/** Deletes the stored secret of a key. */
export function forgetKey(dataDir: string, name: string): void {
  rmSync(fileOf(dataDir, name), { force: true })
}

function fileOf(dataDir: string, name: string): string {
  return join(dataDir, 'keys', name)
}
