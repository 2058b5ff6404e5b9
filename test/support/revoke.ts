import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inheritedEnvironment } from './environment.ts'

const root = join(import.meta.dirname, '..', '..')

/** `npm run revoke -- …` on a database. Rejects with `code`, `stdout` and `stderr` when it fails. */
export function revoke(databaseUrl: string, ...args: readonly string[]) {
  const env = { ...inheritedEnvironment, DATABASE_URL: databaseUrl }
  return promisify(execFile)(process.execPath, ['core/keys/main.ts', ...args], { cwd: root, env })
}
