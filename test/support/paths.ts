import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

const extensions = 'tsx?|md|sql|lua|txt|sh|ya?ml|json|tpl|py|html'
/** A path or file name of this repository's kinds, whole: no part of an address, a pattern or a placeholder. */
const pathPattern = new RegExp(
  `(?<![\\w./*<>{}$@:…-])(?:\\.{1,2}/)*[\\w.-]+(?:/[\\w.-]+)*\\.(?:${extensions})\\b(?![\\w/*<{])`,
  'g',
)

/** A folder or module below a top folder, with or without the `#` of an import. */
const modulePattern =
  /(?<![\w./*<>{}$@:-])#?(?:core|gateway|operator|cabinet|worker|crds|standalone|release|charts|docs|test)\/[\w/-]+(?![\w/*<{.:-])/g

/** Files that are committed, or would be. */
export function repositoryFiles(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)))
}

/**
 * Paths in the comments of a file, or in a document, that name no file: neither from the root, nor from the file's
 * folder, nor as the end of a path.
 */
export function deadPathsOf(file: string, source: string, files: readonly string[]): readonly string[] {
  const text = file.endsWith('.md') ? source : commentLinesOf(file, source)
  const modules = [...text.matchAll(modulePattern)].filter(
    ([path]) => !isModule(path.replace('#', ''), files),
  )
  const paths = [...text.matchAll(pathPattern)]
    .map(([path]) => path)
    .filter((path) => {
      const bare = path.replace(/^(?:\.{1,2}\/)+/, '')
      const isThere = existsSync(join(root, path)) || existsSync(join(root, dirname(file), path))
      return !isThere && !files.some((known) => known === bare || known.endsWith(`/${bare}`))
    })
  return [...paths, ...modules.map(([path]) => path)]
}

/** A command may name the beginning of files' names. */
function isModule(path: string, files: readonly string[]): boolean {
  return existsSync(join(root, path)) || files.some((file) => file.startsWith(path))
}

function commentLinesOf(file: string, source: string): string {
  const comment = /\.(?:ya?ml|sh|py)$/.test(file)
    ? /(?:^|\s)#\s.*$/
    : /^\s*(?:\*|\/\*|\{\/\*|\{\{-?\s*\/\*).*$|(?:^|[\s;,{(])\/\/ .*$|(?:^|\s)--(?:\[\[)?\s.*$/
  return source
    .split('\n')
    .map((line) => comment.exec(line)?.[0] ?? '')
    .join('\n')
}
