import { chmodSync, globSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { compressFiles } from './build/compressed.ts'
import { refuseForeignCode } from './build/own-code.ts'
import { refuseWeight } from './build/weights.ts'

const folder = import.meta.dirname

/** Where the built pages are: `index.html`, and `assets/` with names that tell one version from another. */
export const pagesFolder = join(folder, 'dist')

/** Features that we use as they are, such as `light-dark()`: nothing is rewritten for browsers before these. */
const oldestBrowsers = ['chrome123', 'edge123', 'firefox121', 'safari17.5']

/**
 * Builds the pages into `pagesFolder`, in about two seconds. Whoever serves them meanwhile serves the old or the new ones.
 *
 * @throws Error for wrong code, a bundle that is too heavy, or one that holds code of the server.
 */
export async function buildPages(): Promise<void> {
  // Only here: what serves the pages does without the tools that build them.
  const [{ build }, { default: react }, { default: tailwind }] = await Promise.all([
    import('vite'),
    import('@vitejs/plugin-react'),
    import('@tailwindcss/vite'),
  ])
  const outDir = mkdtempSync(join(folder, 'dist.new-'))
  try {
    await build({
      root: folder,
      configFile: false,
      logLevel: 'error',
      plugins: [react(), tailwind(), refuseWeight(), refuseForeignCode(folder)],
      build: {
        ...{ outDir, target: oldestBrowsers, cssTarget: oldestBrowsers, reportCompressedSize: false },
        cssCodeSplit: false,
        assetsInlineLimit: 0, // the policy of the pages allows no script within a page
        modulePreload: { polyfill: false },
      },
    })
    compressFiles(join(outDir, 'assets'))
    chmodSync(outDir, 0o755) // whoever serves them may be another user
    replaceBy(outDir)
  } finally {
    rmSync(outDir, { recursive: true, force: true })
  }
}

/** Builds them unless what is there is as new as its sources. @returns whether it did. */
export async function buildPagesIfOlder(): Promise<boolean> {
  if (changedAtMs(join(pagesFolder, 'index.html')) >= sourcesChangedAtMs()) return false
  await buildPages()
  return true
}

function replaceBy(outDir: string): void {
  const old = mkdtempSync(join(folder, 'dist.old-'))
  try {
    moveIfThere(pagesFolder, join(old, 'dist'))
    moveIfThere(outDir, pagesFolder)
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** Another process may build at the same moment: the same pages, so that it does not matter whose stay. */
function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
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
