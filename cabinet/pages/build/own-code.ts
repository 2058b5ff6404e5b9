import { relative, sep } from 'node:path'
import type { Plugin } from 'vite'

/** What the pages may contain. Anything else was bundled by accident, most likely server code. */
const packages: ReadonlySet<string> = new Set([
  'react',
  'react-dom',
  'scheduler',
  'wouter',
  'regexparam',
  'mitt',
  'use-sync-external-store',
  '@tanstack/react-query',
  '@tanstack/query-core',
  'markdown-to-jsx',
  'uqr',
  'altcha-lib',
])

/** Fails a build with a module from outside the pages' folder, or with a package that is not listed. */
export function refuseForeignCode(folder: string): Plugin {
  return {
    name: 'refuse-foreign-code',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
      const foreign = modules.filter((id) => !isOurs(id, folder))
      if (foreign.length > 0)
        this.error(
          `the bundle contains foreign code: ${foreign.join(', ')}; use "import type", or list the package in cabinet/pages/build/own-code.ts`,
        )
    },
  }
}

function isOurs(id: string, folder: string): boolean {
  if (id.startsWith('\0')) return true // added by the bundler
  const [path = ''] = id.split('?')
  const [, inPackages] = /.*[\\/]node_modules[\\/](.+)$/.exec(path) ?? []
  if (inPackages === undefined) return !relative(folder, path).startsWith('..')
  const [first = '', second = ''] = inPackages.split(sep)
  return packages.has(first.startsWith('@') ? `${first}/${second}` : first)
}
