import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from './environment.ts'
import { withFileLock } from './file-lock.ts'

const timeoutMs = 120_000
const installTimeoutMs = 300_000

/**
 * Installs packages of Debian for the machine, with what they need and no service started. Needs root.
 *
 * @throws Error where there is no apt-get, or no such package.
 */
export async function installDebianPackages(...names: readonly string[]): Promise<void> {
  const options = {
    timeout: installTimeoutMs,
    // Packages of servers would also start one for the whole machine; RUNLEVEL=1 prevents that.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  }
  const apt = (...args: readonly string[]) => promisify(execFile)('apt-get', ['-q', '-y', ...args], options)
  const install = () => apt('install', '--no-install-recommends', ...names)
  await oneAtATime(() =>
    install().catch(async () => {
      await apt('update') // a fresh image has no lists
      await install()
    }),
  )
}

/** apt-get fails while another one runs, and test files run at the same time. */
async function oneAtATime<Result>(work: () => Promise<Result>): Promise<Result> {
  await mkdir(cacheFolder, { recursive: true })
  return withFileLock(join(cacheFolder, 'apt.lock'), work)
}

/**
 * Unpacks a package of Debian into a folder, which is otherwise empty: nothing is installed, no service started.
 *
 * @returns where the files of the package are.
 * @throws Error where there is no apt-get, or no such package.
 */
export async function unpackDebianPackage(folder: string, name: string): Promise<string> {
  const run = (program: string, ...args: readonly string[]) =>
    promisify(execFile)(program, args, { cwd: folder, timeout: timeoutMs })
  const take = () => run('apt-get', 'download', '-q', name)
  await oneAtATime(() =>
    take().catch(async (error) => {
      if (process.getuid?.() !== 0) throw error
      await run('apt-get', 'update', '-q')
      await take()
    }),
  )
  const [archive = ''] = (await readdir(folder)).filter((file) => file.endsWith('.deb'))
  await run('dpkg-deb', '--extract', archive, 'package')
  return join(folder, 'package')
}
