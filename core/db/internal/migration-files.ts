import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Migration = { readonly name: string; readonly sql: string; readonly sha256: string }

const folder = join(import.meta.dirname, '..', 'migrations')

/** Names of the migrations that this program was built for, in order. */
export function listMigrations(): string[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .sort()
}

/** The same with what they say. */
export function readMigrations(): Migration[] {
  return listMigrations().map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8')
    return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
  })
}
