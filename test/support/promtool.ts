import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { unpackDebianPackage } from './debian-package.ts'
import { cacheFolder } from './environment.ts'
import { withFileLock } from './file-lock.ts'

/**
 * The path of promtool: of PATH, or of Debian's package, which is unpacked into the cache and not installed, since that
 * would start a server.
 *
 * @throws Error saying what to install.
 */
export async function findPromtool(): Promise<string> {
  const cache = join(cacheFolder, 'promtool')
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
  try {
    const files = await unpackDebianPackage(folder, 'prometheus')
    await rename(join(files, 'usr', 'bin', 'promtool'), join(cache, 'promtool'))
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
