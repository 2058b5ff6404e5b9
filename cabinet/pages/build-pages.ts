import { execFile } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const folder = import.meta.dirname

/** Where the built pages are: `index.html`, and `assets/` with names that tell one version from another. */
export const pagesFolder = join(folder, 'dist')

/**
 * Builds the pages unless what is there is as new as its sources; in a process of its own, for the tools that build them
 * are large, and go by the environment.
 *
 * @throws Error with what was said, for wrong code, a bundle that is too heavy, or one that holds code of the server.
 */
export async function buildPagesIfOlder(): Promise<void> {
  if (changedAtMs(join(pagesFolder, 'index.html')) >= sourcesChangedAtMs()) return
  await promisify(execFile)(process.execPath, [join(folder, 'main.ts')], { env: {} })
}

function sourcesChangedAtMs(): number {
  const sources = globSync(['*', '{app,api,build,kit,money,pages,public,words}/**'], { cwd: folder })
  const own = sources.filter((name) => !name.startsWith('dist')).map((name) => join(folder, name))
  return Math.max(...[...own, join(folder, '../../package-lock.json')].map(changedAtMs))
}

/** 0 for what is not there. */
function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
