import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { type Language, languages } from '../preferences.ts'
import { addressIn } from '../public-addresses.ts'
import { anchorsOf, type RenderedDoc, renderDoc } from './render-doc.ts'

/** A page of the documentation. */
export type Doc = RenderedDoc & {
  /** Below the folder of documents: `errors.md`, `ru/errors.md`. */
  readonly file: string
  readonly language: Language
  /** `/docs/errors`, the same in every language. */
  readonly path: string
  readonly markdown: string
  /** The languages that have this page. */
  readonly languages: readonly Language[]
}

/** A document about `npm start`, which readers of the site do not have. Links to it are text. */
const notOnTheSite = 'sign-up.md'

/** The folder of each language; the first page of each is `README.md`. */
const folders: Readonly<Record<Language, string>> = { en: '', ru: 'ru' }
const startFile = 'README.md'

/**
 * Reads and renders all documents of a folder, each language in the order of the links of its first page.
 *
 * @throws Error that names the file: for a broken table, a link to a file or a heading that does not exist, or a
 * document that the first page does not link to
 */
export function readDocs(folder: string): readonly Doc[] {
  const files = new Map(
    languages.flatMap((language) =>
      readdirSync(posix.join(folder, folders[language]))
        .filter((name) => name.endsWith('.md') && name !== notOnTheSite)
        .map((name) => posix.join(folders[language], name))
        .map((file) => [file, readFileSync(posix.join(folder, file), 'utf8')] as const),
    ),
  )
  return renderDocs(files)
}

/** The same, of files that were read: path below the folder → text. Pure. */
export function renderDocs(files: ReadonlyMap<string, string>): readonly Doc[] {
  const anchors = new Map([...files].map(([file, markdown]) => [file, anchorsOf(markdown)]))
  return languages.flatMap((language) =>
    orderOf(language, files).map((file) => {
      const path = pathOf(file)
      const markdown = files.get(file) ?? ''
      return {
        ...blaming(file, () => renderDoc(markdown, (target) => resolve(target, file, anchors))),
        file,
        language,
        path,
        markdown,
        languages: languages.filter((one) => files.has(fileOf(one, path))),
      }
    }),
  )
}

function blaming<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    throw new Error(`docs/use/${file}: ${(cause as Error).message}`, { cause })
  }
}

function orderOf(language: Language, files: ReadonlyMap<string, string>): readonly string[] {
  const start = posix.join(folders[language], startFile)
  const text = files.get(start) ?? ''
  const linked = [...text.matchAll(/\]\(([\w./-]+\.md)\)/g)].map(([, link = '']) =>
    posix.join(folders[language], link),
  )
  const own = [...files.keys()].filter((file) => languageOf(file) === language)
  const order = [...new Set([start, ...linked.filter((file) => own.includes(file))])]
  const forgotten = own.find((file) => !order.includes(file))
  if (forgotten !== undefined) throw new Error(`docs/use/${forgotten}: ${start} has no link to it`)
  return order
}

function languageOf(file: string): Language {
  return languages.find((language) => folders[language] === posix.dirname(file)) ?? 'en'
}

function pathOf(file: string): string {
  const name = posix.basename(file)
  return name === startFile ? '/docs' : `/docs/${name.replace(/\.md$/, '')}`
}

function fileOf(language: Language, path: string): string {
  const name = path === '/docs' ? startFile : `${path.slice('/docs/'.length)}.md`
  return posix.join(folders[language], name)
}

/** Other sites, and addresses of this one, are as written. @throws Error for a document or heading that does not exist */
function resolve(
  target: string,
  from: string,
  anchors: ReadonlyMap<string, ReadonlySet<string>>,
): string | undefined {
  if (/^(?:https?:|\/)/.test(target)) return /^https?:\/\/localhost/.test(target) ? undefined : target
  const [path = '', anchor] = target.split('#', 2)
  const file = path === '' ? from : posix.join(posix.dirname(from), path)
  if (file.startsWith('..') || posix.basename(file) === notOnTheSite) return undefined // not for customers: the operator's documents, and code
  const known = anchors.get(file)
  if (known === undefined) throw new Error(`a link to ${target}, which does not exist`)
  if (anchor !== undefined && !known.has(anchor)) throw new Error(`a link to ${target}: no such heading`)
  const hash = anchor === undefined ? '' : `#${anchor}`
  return path === '' ? hash : `${addressIn(languageOf(file), pathOf(file))}${hash}`
}
