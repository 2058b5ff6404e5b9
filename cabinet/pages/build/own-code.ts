import { relative, sep } from 'node:path'
import type { Plugin } from 'vite'

/** What the pages are made of. Whatever else is bundled came by accident: code of the server above all. */
const packages: ReadonlySet<string> = new Set([
  ...['react', 'react-dom', 'scheduler', 'wouter', 'regexparam', 'mitt', 'use-sync-external-store'],
  ...['@tanstack/react-query', '@tanstack/query-core', 'markdown-to-jsx', 'uqr', 'altcha-lib'],
])

/** Fails a build that holds a module from outside of the pages' folder, or a package that is not theirs. */
export function refuseForeignCode(folder: string): Plugin {
  return {
    name: 'refuse-foreign-code',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
      const foreign = modules.filter((id) => !isOurs(id, folder))
      if (foreign.length > 0)
        this.error(`the pages would hold code that is not theirs: ${foreign.join(', ')}`)
    },
  }
}

function isOurs(id: string, folder: string): boolean {
  if (id.startsWith('\0')) return true // what the bundler itself adds
  const [path = ''] = id.split('?')
  const [, inPackages] = /.*[\\/]node_modules[\\/](.+)$/.exec(path) ?? []
  if (inPackages === undefined) return !relative(folder, path).startsWith('..')
  const [first = '', second = ''] = inPackages.split(sep)
  return packages.has(first.startsWith('@') ? `${first}/${second}` : first)
}
