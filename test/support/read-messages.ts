import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Node, parseSync, type Span, Visitor } from 'oxc-parser'
import { parseAllDocuments, visit } from 'yaml'

/** A file of the product with the texts in it that a person outside may read, in the order of the source. */
export type FileMessages = { readonly file: string; readonly messages: readonly string[] }

const root = join(import.meta.dirname, '../..')

/**
 * The messages of the whole product: errors, conditions, events, log lines, descriptions, help of metrics, output of
 * commands, what a migration or a function of the database raises. The pages of `cabinet/pages` are not among them.
 */
export function readMessages(): readonly FileMessages[] {
  const exclude = ['**/*.test.ts', '**/*.fixture.ts', 'cabinet/pages/**']
  const sources = [
    '{core,gateway,operator,cabinet,worker,crds,standalone}/**/*.ts',
    'operator/deploy/*.yaml',
    'core/db/migrations/*.sql',
  ]
  return globSync(sources, { cwd: root, exclude })
    .toSorted()
    .map((file) => ({ file, messages: messagesOf(file, readFileSync(join(root, file), 'utf8')) }))
    .filter(({ messages }) => messages.length > 0)
}

/** As `test/messages.txt` has them: a file, its messages below it, a line each. */
export function catalogOf(files: readonly FileMessages[]): string {
  return files
    .map(({ file, messages }) => `${file}\n${messages.map((message) => `  ${message}\n`).join('')}`)
    .join('\n')
}

/** The reviewed catalog, `test/messages.txt`; with `UPDATE_MESSAGES=1` it is first set to `actual`. */
export function readReviewedCatalog(actual: string): string {
  const file = join(root, 'test/messages.txt')
  if (process.env.UPDATE_MESSAGES === '1') writeFileSync(file, actual)
  return readFileSync(file, 'utf8')
}

/**
 * The messages of a source file, rather a line too many than a message without review:
 *
 * - of code, every string and template that has at least two words and is not SQL, CEL, a pattern or data on
 *   a wire
 * - of a YAML file, the messages of its admission policies
 * - of SQL, what it raises
 *
 * A text of one word is not found, unless it is in an expression within a longer one.
 */
export function messagesOf(file: string, source: string): readonly string[] {
  return textsOf(file, source)
    .filter(isMessage)
    .map(({ shown }) => shown.replaceAll('\n', '\\n').replaceAll('\r', '\\r'))
}

function textsOf(file: string, source: string): readonly Text[] {
  if (file.endsWith('.yaml')) return textsOfPolicies(file, source)
  if (file.endsWith('.sql')) return textsOfRaises(source)
  return textsOfCode(file, source)
}

/** A text as the catalog shows it, and as it is written: with a mark in place of each expression. */
type Text = { readonly shown: string; readonly written: string }

const expressionMark = '\u{fffc}'

function isMessage({ written }: Text): boolean {
  const words = written.split(/\s+/).filter((word) => /[\p{L}\u{fffc}]/u.test(word))
  return words.length > 1 && /\p{L}/u.test(written) && !foreign.some((pattern) => pattern.test(written))
}

/** What no sentence for people has: fragments of SQL and CEL outside the calls that are left out anyway, and wires. */
const foreign = [
  /^(?:insert into|delete from|update \w+ set)\b|(?:^|\()\s*select\b.*\bfrom\b|\bset local \w+ =|\bcase when\b|\bany\(\$\d|\binterval '/s,
  /::(?:text|int|bigint|float8|uuid|date|jsonb)\b|\bas "[a-z]+[A-Z]|\b[a-z]\.[a-z_]+ (?:=|is) /,
  /\bself\.| [<>]=? /,
  /^(?:Bearer|Basic|HTTP\/1\.1|#!lua) |; charset=|(?:^|\u{fffc})data: [[{\u{fffc}]/u,
]

/** `%` stands for a value. */
function textsOfRaises(source: string): Text[] {
  return [...source.matchAll(/\braise\s+(?:exception|warning|notice|log)\s+'((?:[^']|'')*)'/g)].map(
    ([, literal = '']) => {
      const shown = literal.replaceAll("''", "'")
      return { shown, written: shown.replaceAll('%', expressionMark) }
    },
  )
}

function textsOfPolicies(file: string, source: string): Text[] {
  const texts: Text[] = []
  for (const document of parseAllDocuments(source)) {
    refuseUnread(file, document.errors)
    visit(document, {
      Pair(_, { key, value }) {
        if (/^message(?:Expression)?$/.test(String(key))) texts.push(plain(String(value)))
      },
    })
  }
  return texts
}

/** Calls whose strings go to another program, or are looked for in its output. */
const callsWithoutMessages =
  /(?:^|\.)(?:query|change|withoutAudit|ask|includes|startsWith|endsWith|says|firstOf)$/

/** Properties that hold CEL. */
const propertiesWithoutMessages = /^(?:cel|rule)$/

/** Reads one file. A visitor meets the outer before the inner, so that what is left out is known in time. */
function textsOfCode(file: string, source: string): Text[] {
  const { program, errors } = parseSync(file, source, { preserveParens: false })
  refuseUnread(file, errors)
  const texts: Text[] = []
  const leftOut: Span[] = []
  const partsOfSums = new Set<Span>()
  const take = (node: Node): void => {
    const isInside = leftOut.some(({ start, end }) => start <= node.start && node.end <= end)
    const text = isInside || partsOfSums.has(node) ? undefined : textOf(node, source)
    if (text !== undefined) texts.push(text)
  }
  new Visitor({
    CallExpression({ callee, arguments: given }) {
      if (callsWithoutMessages.test(source.slice(callee.start, callee.end))) leftOut.push(...given)
    },
    Property({ key, value }) {
      if (propertiesWithoutMessages.test(source.slice(key.start, key.end))) leftOut.push(value)
    },
    TSLiteralType: (type) => leftOut.push(type),
    BinaryExpression(sum) {
      take(sum)
      if (sum.operator === '+') partsOfSums.add(sum.left).add(sum.right)
    },
    TemplateLiteral: take,
    Literal: take,
  }).visit(program)
  return texts
}

/** The text of a string, a template or a sum that has one of these; of anything else, none. */
function textOf(node: Node, source: string): Text | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? plain(node.value) : undefined
  if (node.type === 'TemplateLiteral')
    return joined(
      node.quasis.flatMap(({ value }, at) => {
        const expression = node.expressions[at]
        const text = plain(value.cooked ?? value.raw)
        return expression === undefined ? [text] : [text, filledIn(expression, source)]
      }),
    )
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined
  const parts = [node.left, node.right].map((part) => ({ part, text: textOf(part, source) }))
  if (parts.every(({ text }) => text === undefined)) return undefined
  return joined(parts.map(({ part, text }) => text ?? filledIn(part, source)))
}

/** What cannot be parsed may hold messages that the catalog would lack. */
function refuseUnread(file: string, [error]: readonly { readonly message: string }[]): void {
  if (error !== undefined) throw new Error(`${file} cannot be parsed: ${error.message}`)
}

function plain(text: string): Text {
  return { shown: text, written: text }
}

/** Enough for a choice between two words; longer expressions do not help a reader of messages. */
const expressionLengthMax = 80

function filledIn({ start, end }: Span, source: string): Text {
  const expression = source.slice(start, end).replace(/\s+/g, ' ')
  const isShort = expression.length <= expressionLengthMax
  const name = isShort ? expression : `${expression.slice(0, expressionLengthMax - 1)}…`
  return { shown: `\${${name}}`, written: expressionMark }
}

function joined(texts: readonly Text[]): Text {
  return {
    shown: texts.map(({ shown }) => shown).join(''),
    written: texts.map(({ written }) => written).join(''),
  }
}
