import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const timeoutMs = 120_000

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
  await take().catch(async (error) => {
    if (process.getuid?.() !== 0) throw error
    await run('apt-get', 'update', '-q') // a fresh image has no lists
    await take()
  })
  const [archive = ''] = (await readdir(folder)).filter((file) => file.endsWith('.deb'))
  await run('dpkg-deb', '--extract', archive, 'package')
  return join(folder, 'package')
}
