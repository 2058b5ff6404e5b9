import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '#standalone/postgres'

const run = promisify(execFile)
const majorVersionMin = 15
const installTimeoutMs = 300_000

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
  const options = {
    timeout: installTimeoutMs,
    // The package would also make and start a cluster for the whole machine; RUNLEVEL=1 keeps it from starting.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  }
  const apt = (...args: string[]) => run('apt-get', ['-q', '-y', ...args], options)
  let cause: unknown
  try {
    const lists = await readdir('/var/lib/apt/lists')
    if (!lists.some((list) => list.includes('Packages'))) await apt('update')
    const package15 = apt('install', '--no-install-recommends', 'postgresql-15')
    await package15.catch(() => apt('install', '--no-install-recommends', 'postgresql'))
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
