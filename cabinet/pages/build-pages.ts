import { execFile } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const folder = import.meta.dirname

/** The folder of the built pages: `index.html`, and `assets/` with a content hash in each name. */
export const pagesFolder = join(folder, 'dist')

/** The folder of the built pages of administration, which no customer downloads. */
export const administrationPagesFolder = join(folder, 'dist-administration')

/**
 * Builds the pages unless the build is newer than its sources. Runs in a separate process: the build tools are large
 * and depend on the environment.
 *
 * @throws Error with the build's output, for wrong code, a bundle that is too heavy, or a bundle that contains server
 * code.
 */
export async function buildPagesIfOlder(): Promise<void> {
  const built = [pagesFolder, administrationPagesFolder].map((built) =>
    changedAtMs(join(built, 'index.html')),
  )
  if (Math.min(...built) >= sourcesChangedAtMs()) return
  await promisify(execFile)(process.execPath, [join(folder, 'main.ts')], { env: {} })
}

function sourcesChangedAtMs(): number {
  const sources = globSync('**/*', { cwd: folder, exclude: (name) => name.startsWith('dist') })
  const own = sources.map((name) => join(folder, name))
  const documents = globSync(join(folder, '../../docs/use/**/*.md'))
  return Math.max(...[...own, ...documents, join(folder, '../../package-lock.json')].map(changedAtMs))
}

/** 0 if the file does not exist. */
function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
