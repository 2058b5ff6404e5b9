import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messagesOf } from './read-messages.ts'

const root = join(import.meta.dirname, '../..')

/** A text that people read, and the line that it begins at. Code in backticks is left out. */
export type Prose = { readonly file: string; readonly line: number; readonly text: string }

const sources = [
  '*.md',
  '{core,gateway,operator,cabinet,worker,crds,standalone,release,test,charts,docs}/**/*.{md,ts,tsx,lua,sql,txt}',
  '{charts,operator,release}/**/*.{yaml,tpl}',
  'cabinet/web/openapi.json',
]

/** Published and never edited again, by lawyers, data, or built. */
const exclude = [
  'core/db/migrations/**',
  'core/db/schema.txt',
  'cabinet/legal/texts/**',
  'cabinet/pages/dist*/**',
  'charts/model-gateway/files/crds/**',
  'test/operator/previous-release/**',
  'test/clients/pinned/**',
  'test/messages.txt',
  '**/node_modules/**',
]

/** Comments, messages and test names of code, the text of documents, and the descriptions of the API. */
export function readProse(): readonly Prose[] {
  return globSync(sources, { cwd: root, exclude })
    .toSorted()
    .flatMap((file) => proseOf(file, readFileSync(join(root, file), 'utf8')))
}

export function proseOf(file: string, source: string): readonly Prose[] {
  if (/\/docs\/use\/ru\//.test(`/${file}`)) return []
  if (file.endsWith('.md') || file.endsWith('.txt')) return paragraphsOf(file, withoutCode(source))
  if (file.endsWith('.json')) return linesOf(file, source, /"(?:summary|description)": "(.*)"/)
  if (/\.(?:yaml|tpl)$/.test(file))
    return linesOf(file, source, /(?:^|\s)#\s?(.*)$|\{\{-?\s*\/\*(.*?)\*\/|^\s*summary: "(.*)"$/)
  if (file.startsWith('core/db/functions/')) return linesOf(file, headerOf(source), /--\s?(.*)$/)
  if (/\.(?:lua|sql)$/.test(file)) return linesOf(file, source, /--\s?(.*)$/)
  return [...commentsOf(file, source), ...titlesOf(file, source), ...messagesAsProse(file, source)]
}

/** The comment above a function of the database. Its body is that of a migration, and never edited. */
const headerOf = (source: string) => source.split(/^CREATE /m)[0] ?? ''

/** Names of tests. */
function titlesOf(file: string, source: string): readonly Prose[] {
  if (!file.endsWith('.test.ts')) return []
  const titles = source.matchAll(
    /^ *(?:test|describe)(?:\.\w+)*(?:\([^'"`]{0,300}?\))?\(\s*(['"`])((?:(?!\1)[^\\]|\\.)*)\1/gm,
  )
  return [...titles].map(({ 2: text = '', index }) => ({
    file,
    line: source.slice(0, index).split('\n').length,
    text: withoutTicks(text.replace(/\$\{[^}]*\}/g, '`x`')),
  }))
}

function messagesAsProse(file: string, source: string): readonly Prose[] {
  // Test data is not text of this project, and Russian has its own rules.
  if (file.startsWith('test/') || /\.(?:test|fixture)\.tsx?$|messages\.ru\.ts$/.test(file)) return []
  return messagesOf(file, source).flatMap((message) =>
    message.split('\\n').map((text) => ({
      file,
      line: lineOf(source, text),
      text: withoutTicks(text.replace(/\$\{[^}]*\}+/g, '`x`')),
    })),
  )
}

/** The line that a text begins at; 0 if it is not written so. */
function lineOf(source: string, text: string): number {
  const at = source.indexOf(text.split('${')[0] ?? text)
  return at < 0 ? 0 : source.slice(0, at).split('\n').length
}

/** Comments of TypeScript: lines that follow each other are one text. */
function commentsOf(file: string, source: string): readonly Prose[] {
  const found: { file: string; line: number; text: string }[] = []
  let [isBlock, lastLine] = [false, -2]
  source.split('\n').forEach((raw, index) => {
    const beginsBlock = /^\s*(?:\{)?\/\*\*?/.test(raw)
    const text =
      isBlock || beginsBlock ? raw.replace(/^\s*\{?\/?\*+\/?\s?|\*\/\}?.*$/g, '') : lineComment(raw)
    if (beginsBlock) isBlock = true
    if (isBlock && raw.includes('*/')) isBlock = false
    if (text === undefined) return
    const last = found.at(-1)
    if (last !== undefined && lastLine === index - 1 && !/^\s*(?:@|- |$)/.test(text)) last.text += ` ${text}`
    else found.push({ file, line: index + 1, text })
    lastLine = index
  })
  return found.map((prose) => ({ ...prose, text: withoutTicks(prose.text) }))
}

const lineComment = (raw: string) => /(?:^|[\s;,{(])\/\/ (?!biome-ignore|@ts)(.*)$/.exec(raw)?.[1]

function linesOf(file: string, source: string, pattern: RegExp): readonly Prose[] {
  return source.split('\n').flatMap((raw, index) => {
    const match = pattern.exec(raw)
    const text = match?.slice(1).find((part) => part !== undefined)
    return text === undefined ? [] : [{ file, line: index + 1, text: withoutTicks(text) }]
  })
}

function paragraphsOf(file: string, source: string): readonly Prose[] {
  const found: Prose[] = []
  let [line, text] = [0, '']
  source.split('\n').forEach((raw, index) => {
    const begins = /^\s*(?:$|[-*#|>]|\d+\.)/.test(raw)
    if (begins && text.trim() !== '') found.push({ file, line, text: withoutTicks(text.trim()) })
    if (begins) [line, text] = [index + 1, raw.replace(/\|/g, ' . ')]
    else text += ` ${raw}`
  })
  if (text.trim() !== '') found.push({ file, line, text: withoutTicks(text.trim()) })
  return found
}

/** Without fenced blocks, and blocks that four spaces begin. */
const withoutCode = (source: string) =>
  source
    .replace(/^( *)(```|~~~)[\s\S]*?^\1\2/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/(?<=\n)\n(?: {4}(?![-*\d]).*\n)+/g, (block) => block.replace(/[^\n]/g, ''))

/** Code, paths and addresses are no words. */
const withoutTicks = (text: string) =>
  text
    .replace(/`[^`]*`|@param \S+/g, '`x`')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/[\w.-]+\/[\w./-]+\.\w+/g, '`x`')

/** Sentences of a text with more words than that. Pure. */
export function longSentencesOf(text: string, wordsMax: number): readonly string[] {
  return text
    .split(/(?<=[.!?:;])\s+/)
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\p{L}/u.test(word)).length > wordsMax)
}
