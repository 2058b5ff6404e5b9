import { readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { notRun, runSections } from './document-commands.ts'
import { type Block, blocksOf, commandsOf } from './support/document-commands.ts'
import { repositoryFiles } from './support/paths.ts'
import configuration from './vitest.config.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8')
const files = repositoryFiles()
const documents = files.filter((file) => file.endsWith('.md'))
const blocks = documents.flatMap((document) => blocksOf(document, read(document)))

const isVitest = (command: string) => /^(?:[A-Z_]+=\S+ )*npx vitest /.test(command)
const isRunFromText = ({ document, section, language }: Block) =>
  runSections.some(
    (run) => run.document === document && run.section === section && (run.language ?? 'sh') === language,
  )

test('every block of commands is run from the text by a test, or listed with the reason why not', () => {
  const run = blocks.filter(isRunFromText).map(({ text }) => text)
  const first = blocks
    .filter((block) => !isRunFromText(block) && !run.some((text) => text.includes(block.text)))
    .flatMap(({ document, language, text }) => {
      const commands = language === 'sh' ? commandsOf(text) : text.split('\n')
      // Of a block of several programs each has its entry; a program or session has that of its first line.
      const isList = /^(?:[A-Z_]+=\S+ )*(?:npm|npx|node) /.test(commands[0] ?? '')
      return (isList ? commands : commands.slice(0, 1))
        .filter((command) => !isVitest(command))
        .map((command) => ({ document, command }))
    })
  expect(first.filter(({ command }) => !(command in notRun))).toEqual([])
  const found = new Set(first.map(({ command }) => command))
  expect(Object.keys(notRun).filter((command) => !found.has(command))).toEqual([])
})

test('a test that a reason names exists', () => {
  const named = Object.values(notRun).flatMap((reason) => reason.match(/\btest\/[\w./-]+\.ts\b/g) ?? [])
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((file) => !files.includes(file))).toEqual([])
})

test('each page of docs/use is there in Russian with the same commands, except the list of operations', () => {
  const pages = documents.filter((file) => /^docs\/use\/(?!http-api)[\w-]+\.md$/.test(file))
  expect(pages.length).toBeGreaterThan(5)
  const commandsIn = (file: string) =>
    blocks.filter(({ document }) => document === file).map(({ text }) => text)
  for (const page of pages) {
    const russian = page.replace('docs/use/', 'docs/use/ru/')
    expect(documents).toContain(russian)
    expect([russian, commandsIn(russian)]).toEqual([russian, commandsIn(page)])
  }
})

test('a test that runs a section reads the section of that document', () => {
  for (const { document, section, test: file } of runSections) {
    const own = blocks.filter((block) => block.document === document && block.section === section)
    expect(own.filter(isRunFromText)).not.toEqual([])
    const source = read(file)
    expect([file, section, source.includes(`${section}'`)]).toEqual([file, section, true])
    expect([file, document, document === 'README.md' || source.includes(`'${document}'`)]).toEqual([
      file,
      document,
      true,
    ])
  }
})

test('a vitest command names a project that has each of its files', () => {
  const commands = blocks.flatMap(({ document, text }) =>
    commandsOf(text)
      .filter(isVitest)
      .map((command) => ({ document, command })),
  )
  expect(commands.length).toBeGreaterThan(20)
  const broken = commands.flatMap(({ document, command }) => {
    const [, project = '', paths = ''] =
      /--config test\/vitest\.config\.ts --project ([\w-]+) (.+)$/.exec(command) ?? []
    const has = filesOf(project)
    return expanded(paths)
      .filter((path) => !has.some((file) => file.includes(path)))
      .map((path) => `${document}: ${command}: ${path}`)
      .concat(paths === '' ? [`${document}: ${command}`] : [])
  })
  expect(broken).toEqual([])
})

test('every npm script that a document names exists', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)].map(([, script = '']) => ({
      document,
      script,
    })),
  )
  expect(named.filter(({ script }) => !(script in scripts))).toEqual([])
})

/** The test files of a project. */
function filesOf(project: string): readonly string[] {
  const projects = configuration.test?.projects ?? []
  for (const one of projects) {
    if (typeof one !== 'object' || !('test' in one) || one.test?.name !== project) continue
    const { include = [], exclude = [] } = one.test
    const isIn = (file: string, globs: readonly string[]) => globs.some((glob) => matchesGlob(file, glob))
    return files.filter((file) => isIn(file, include) && !isIn(file, exclude))
  }
  return []
}

/** The words of a shell line, with `{a,b}` expanded. */
function expanded(paths: string): readonly string[] {
  return paths.split(/\s+/).flatMap((path) => {
    const [, before = '', choices, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? []
    return choices === undefined ? [path] : choices.split(',').map((choice) => `${before}${choice}${after}`)
  })
}
