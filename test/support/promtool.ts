import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { withFileLock } from './file-lock.ts'

const packageTimeoutMs = 120_000

/**
 * The path of promtool: of PATH, or of Debian's package, which is unpacked into the cache and not installed, since that
 * would start a server.
 *
 * @throws Error saying what to install.
 */
export async function findPromtool(): Promise<string> {
  const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const cache = join(caches, 'model-gateway', 'promtool')
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''), cache]
  const find = async () => {
    for (const folder of folders)
      if (await isUsable(join(folder, 'promtool'))) return join(folder, 'promtool')
    return undefined
  }
  const found = await find()
  if (found !== undefined) return found
  await mkdir(cache, { recursive: true })
  return withFileLock(join(cache, 'lock'), async () => (await find()) ?? unpack(cache))
}

async function unpack(cache: string): Promise<string> {
  const folder = await mkdtemp(join(cache, 'making-'))
  const run = (program: string, ...args: readonly string[]) =>
    promisify(execFile)(program, [...args], { cwd: folder, timeout: packageTimeoutMs })
  try {
    await run('apt-get', 'download', '-q', 'prometheus').catch(async () => {
      await run('apt-get', 'update', '-q') // a fresh image has no lists
      await run('apt-get', 'download', '-q', 'prometheus')
    })
    const [archive = ''] = (await readdir(folder)).filter((name) => name.endsWith('.deb'))
    await run('dpkg-deb', '--extract', archive, 'package')
    await rename(join(folder, 'package/usr/bin/promtool'), join(cache, 'promtool'))
    return join(cache, 'promtool')
  } catch (cause) {
    throw new Error(
      'promtool is needed to test the alerts. Install Prometheus (Debian: `apt-get install prometheus`), or put promtool into PATH.',
      { cause },
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function isUsable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
