import { chmodSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { build } from 'vite'
import { administrationPagesFolder, pagesFolder } from '../build-pages.ts'
import { compressFiles } from './compressed.ts'
import { oldestBrowsers } from './oldest-browsers.ts'
import { refuseForeignCode } from './own-code.ts'
import { buildPublicAssets } from './public-assets.ts'
import { refuseWeight } from './weights.ts'

const folder = join(import.meta.dirname, '..')

/**
 * Packages that only some pages need. All others are in the entry: otherwise each page would load a dozen files of a
 * kilobyte.
 */
const ofSomePages =
  /[\\/]cabinet[\\/]pages[\\/](?:features|administration[\\/]\w+)[\\/]|[\\/]node_modules[\\/](?:markdown-to-jsx|uqr)[\\/]/
const sharedByPages = { name: 'index', test: (id: string) => !ofSomePages.test(id) }

/**
 * Builds the pages of the cabinet and of administration, each into its folder. Both have the same budgets. During the build the server serves either the old or the new pages.
 *
 * @throws Error for wrong code, a bundle that is too heavy, or a bundle that contains server code.
 */
export async function buildPages(): Promise<void> {
  await buildInto(pagesFolder, folder, buildPublicAssets)
  await buildInto(administrationPagesFolder, join(folder, 'administration'))
}

/**
 * @param root of `index.html`
 * @param addTo adds more files to the build
 */
async function buildInto(
  builtFolder: string,
  root: string,
  addTo: (outDir: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const outDir = mkdtempSync(join(folder, 'dist.new-'))
  try {
    await build({
      root,
      publicDir: join(folder, 'public'),
      configFile: false,
      logLevel: 'error',
      plugins: [react(), tailwind(), refuseWeight(), refuseForeignCode(folder)],
      build: {
        outDir,
        target: oldestBrowsers,
        cssTarget: oldestBrowsers,
        reportCompressedSize: false,
        cssCodeSplit: false,
        assetsInlineLimit: 0, // the content security policy allows no inline script
        modulePreload: { polyfill: false },
        rolldownOptions: { output: { codeSplitting: { groups: [sharedByPages] } } },
      },
    })
    await addTo(outDir)
    compressFiles(join(outDir, 'assets'))
    chmodSync(outDir, 0o755) // the server may run as another user
    replaceBy(outDir, builtFolder)
  } finally {
    rmSync(outDir, { recursive: true, force: true })
  }
}

function replaceBy(outDir: string, builtFolder: string): void {
  const old = mkdtempSync(join(folder, 'dist.old-'))
  try {
    moveIfThere(builtFolder, join(old, 'dist'))
    moveIfThere(outDir, builtFolder)
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** Another process may build at the same moment. Both results are the same, so either may stay. */
function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
