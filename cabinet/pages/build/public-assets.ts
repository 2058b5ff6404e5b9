import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import { build, type Rolldown } from 'vite'
import { type BuiltPublicPages, builtPublicPagesFile } from '../built-public-pages.ts'
import { buildDocs } from '../docs/build-docs.ts'
import { oldestBrowsers } from './oldest-browsers.ts'
import { refuseForeignCode } from './own-code.ts'

const folder = join(import.meta.dirname, '..')

/** Gzipped, in bytes: public pages are read by people who have not decided yet, on any network. */
const scriptBytesMax = 60_000
const styleBytesMax = 15_000

/**
 * Adds the script, the style sheet and the prerendered bodies of public pages to a build.
 *
 * @throws Error for wrong code, a script or a style sheet that is too heavy, or a document that cannot be rendered.
 */
export async function buildPublicAssets(outDir: string): Promise<void> {
  const files = await buildSite(outDir)
  const pages: BuiltPublicPages = {
    assets: {
      script: addressOf(files, '.js', scriptBytesMax),
      style: addressOf(files, '.css', styleBytesMax),
    },
    docs: buildDocs(outDir),
  }
  writeFileSync(join(outDir, builtPublicPagesFile), JSON.stringify(pages))
}

type File = Rolldown.RolldownOutput['output'][number]

async function buildSite(outDir: string): Promise<readonly File[]> {
  const built = await build({
    root: folder,
    publicDir: false,
    configFile: false,
    logLevel: 'error',
    plugins: [tailwind(), refuseForeignCode(folder)],
    build: {
      outDir,
      emptyOutDir: false,
      target: oldestBrowsers,
      cssTarget: oldestBrowsers,
      reportCompressedSize: false,
      cssCodeSplit: false,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: join(folder, 'site/start.ts'),
        output: { entryFileNames: 'assets/site-[hash].js', assetFileNames: 'assets/site-[hash][extname]' },
      },
    },
  })
  return [built].flat().flatMap((one) => ('output' in one ? one.output : []))
}

/** @throws Error unless there is exactly one such file, light enough */
function addressOf(files: readonly File[], extension: string, bytesMax: number): string {
  const [file, ...others] = files.filter(({ fileName }) => fileName.endsWith(extension))
  if (file === undefined || others.length > 0)
    throw new Error(`public pages have ${others.length + 1} files ${extension}`)
  const bytes = gzipSync(file.type === 'chunk' ? file.code : file.source).length
  if (bytes > bytesMax) throw new Error(`${file.fileName}: ${bytes} bytes gzipped, ${bytesMax} at most`)
  return `/${file.fileName}`
}
