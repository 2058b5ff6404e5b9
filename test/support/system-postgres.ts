import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '#standalone/postgres'
import { installDebianPackages } from './debian-package.ts'

const run = promisify(execFile)
const majorVersionMin = 15

/**
 * Starts a throwaway cluster of the system's own Postgres, the oldest of version ≥ 15 that is there; installs
 * Debian's `postgresql-15` where there is none and we may.
 *
 * @throws Error saying in one sentence what to install: a test that needs it must not be skipped in silence.
 */
export async function startSystemPostgres(): Promise<PostgresServer> {
  const binaries = (await findBinaries()) ?? (await install())
  return startPostgres(binaries, { durability: 'fast' })
}

async function findBinaries(): Promise<string | undefined> {
  const folders = [
    ...globSync('/usr/lib/postgresql/*/bin'),
    ...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''),
  ]
  const found: { readonly folder: string; readonly major: number }[] = []
  for (const folder of folders) {
    const { stdout } = await run(join(folder, 'postgres'), ['--version']).catch(() => ({ stdout: '' }))
    const major = Number(/\) (\d+)/.exec(stdout)?.[1] ?? 0)
    if (major >= majorVersionMin) found.push({ folder, major })
  }
  return found.sort((a, b) => a.major - b.major)[0]?.folder
}

async function install(): Promise<string> {
  let cause: unknown
  try {
    await installDebianPackages('postgresql-15').catch(() => installDebianPackages('postgresql'))
    const binaries = await findBinaries()
    if (binaries !== undefined) return binaries
  } catch (error) {
    cause = error
  }
  throw new Error(
    'The schema must be tried on the system’s own Postgres too, and there is none of version 15 or newer and none ' +
      'could be installed: `apt-get install postgresql-15` as root.',
    { cause },
  )
}
