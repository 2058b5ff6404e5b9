import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messagesOf } from './read-messages.ts'

const root = join(import.meta.dirname, '../..')

/** A text that people read, and the line that it begins at. Code in backticks is left out. */
export type Prose = { readonly file: string; readonly line: number; readonly text: string }

const sources = [
  '*.md',
  '{core,gateway,operator,cabinet,worker,crds,standalone,release,test,charts,docs}/**/*.{md,ts,tsx,lua,sql,txt}',
  'charts/**/*.{yaml,tpl}',
]

/** Published before the rule, never edited, generated, or by others. */
const exclude = [
  'core/db/migrations/**',
  'core/db/functions/**',
  'core/db/schema.txt',
  'core/db/functions/**',
  'cabinet/people/legal/**',
  'cabinet/pages/dist*/**',
  'charts/model-gateway/files/crds/**',
  'test/operator/previous-release/**',
  'test/messages.txt',
  'docs/operate/{crds,settings,values}.md',
  'docs/use/{errors,http-api}.md',
  '**/node_modules/**',
]

/** Comments and English messages of code, and the text of documents. */
export function readProse(): readonly Prose[] {
  return globSync(sources, { cwd: root, exclude })
    .toSorted()
    .flatMap((file) => proseOf(file, readFileSync(join(root, file), 'utf8')))
}

export function proseOf(file: string, source: string): readonly Prose[] {
  if (file.endsWith('.md') || file.endsWith('.txt')) return paragraphsOf(file, withoutCode(source))
  if (/\.(?:yaml|tpl)$/.test(file)) return linesOf(file, source, /(?:^|\s)#\s?(.*)$|\{\{-?\s*\/\*(.*?)\*\//)
  if (/\.(?:lua|sql)$/.test(file)) return linesOf(file, source, /--\s?(.*)$/)
  return [...commentsOf(file, source), ...messagesAsProse(file, source)]
}

function messagesAsProse(file: string, source: string): readonly Prose[] {
  // Test data is not text of this project, and Russian has its own rules.
  if (file.startsWith('test/') || /\.(?:test|fixture)\.tsx?$|messages\.ru\.ts$/.test(file)) return []
  return messagesOf(file, source).map((text) => ({ file, line: 0, text }))
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
    const text = match?.[1] ?? match?.[2]
    return text === undefined ? [] : [{ file, line: index + 1, text: withoutTicks(text) }]
  })
}

function paragraphsOf(file: string, source: string): readonly Prose[] {
  const found: Prose[] = []
  let [line, text] = [0, '']
  source.split('\n').forEach((raw, index) => {
    const begins = /^\s*(?:$|[-*#|>]|\d+\.)/.test(raw)
    if (begins && text.trim() !== '') found.push({ file, line, text: withoutTicks(text) })
    if (begins) [line, text] = [index + 1, raw.replace(/\|/g, ' . ')]
    else text += ` ${raw}`
  })
  if (text.trim() !== '') found.push({ file, line, text: withoutTicks(text) })
  return found
}

const withoutCode = (source: string) =>
  source.replace(/^( *)(```|~~~)[\s\S]*?^\1\2/gm, (block) => block.replace(/[^\n]/g, ''))

const withoutTicks = (text: string) => text.replace(/`[^`]*`/g, '`x`').replace(/\]\([^)]*\)/g, ']')

/** Sentences of a text with more words than that. Pure. */
export function longSentencesOf(text: string, wordsMax: number): readonly string[] {
  return text
    .split(/(?<=[.!?:;])\s+/)
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\p{L}/u.test(word)).length > wordsMax)
}

/** Banned words that each file may still have, written before the rule; with `UPDATE_WORDS=1` those that it has. */
export function readAllowed(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const file = join(root, 'test/words-allowed.json')
  if (process.env.UPDATE_WORDS === '1') writeFileSync(file, `${JSON.stringify(counts, null, 2)}\n`)
  return JSON.parse(readFileSync(file, 'utf8'))
}
