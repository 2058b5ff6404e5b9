import { chmodSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { build } from 'vite'
import { pagesFolder } from '../build-pages.ts'
import { compressFiles } from './compressed.ts'
import { refuseForeignCode } from './own-code.ts'
import { refuseWeight } from './weights.ts'

const folder = join(import.meta.dirname, '..')

/** Features that we use as they are, such as `light-dark()`: nothing is rewritten for browsers before these. */
const oldestBrowsers = ['chrome123', 'edge123', 'firefox121', 'safari17.5']

/** What only some pages need: the rest comes with the entry, or each page would load a dozen files of a kilobyte. */
const ofSomePages =
  /[\\/]cabinet[\\/]ui[\\/](?:pages|words)[\\/]|[\\/]node_modules[\\/](?:markdown-to-jsx|uqr)[\\/]/
const sharedByPages = { name: 'index', test: (id: string) => !ofSomePages.test(id) }

/**
 * Builds the pages into `pagesFolder`. Whoever serves them meanwhile serves the old or the new ones.
 *
 * @throws Error for wrong code, a bundle that is too heavy, or one that holds code of the server.
 */
export async function buildPages(): Promise<void> {
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
        rolldownOptions: { output: { codeSplitting: { groups: [sharedByPages] } } },
      },
    })
    compressFiles(join(outDir, 'assets'))
    chmodSync(outDir, 0o755) // whoever serves them may be another user
    replaceBy(outDir)
  } finally {
    rmSync(outDir, { recursive: true, force: true })
  }
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
