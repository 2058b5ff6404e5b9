import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { repositoryFiles } from './support/paths.ts'

const root = join(import.meta.dirname, '..')

const documents = repositoryFiles().filter((file) => file.endsWith('.md'))

test('every relative link in a Markdown file leads to a file and a heading that exist', () => {
  expect(documents.flatMap((file) => brokenLinksOf(file).map((link) => `${file}: ${link}`))).toEqual([])
})

test('the README of a folder has at most 30 lines', () => {
  const long = documents
    .filter((file) => /^(?!docs\/).+\/README\.md$/.test(file))
    .filter((file) => readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length > 30)
  expect(long).toEqual([])
})

test('each path of docs/contribute/README.md has at most three links from the root README, and ends at a file of code', () => {
  const page = 'docs/contribute/README.md'
  const [, table = ''] =
    /^\| the code that….*\n.*\n((?:\|.*\n)+)/m.exec(readFileSync(join(root, page), 'utf8')) ?? []
  const paths = table
    .trimEnd()
    .split('\n')
    .map((row) => linksOf(page, row))
  expect(paths.length).toBeGreaterThanOrEqual(5)
  for (const path of paths) {
    expect(path.length).toBeGreaterThanOrEqual(2)
    expect(path.length).toBeLessThanOrEqual(3)
    expect(path.at(-1)).toMatch(/\.(?:ts|tsx|lua)$/)
    ;['README.md', ...path].reduce((from, to) => {
      expect([from, linksOf(from, readFileSync(join(root, from), 'utf8'))]).toEqual([
        from,
        expect.arrayContaining([to]),
      ])
      return to
    })
  }
})

/** The files that the links of a text lead to, from the root. */
function linksOf(file: string, text: string): readonly string[] {
  return [...text.matchAll(linkPattern)].map(([, link = '']) =>
    join(dirname(file), link.split('#', 1)[0] ?? ''),
  )
}

const linkPattern = /\]\((?!https?:)([^)\s]+)\)/g

function brokenLinksOf(file: string): string[] {
  const links = [...readFileSync(join(root, file), 'utf8').matchAll(linkPattern)]
  return links.flatMap(([, link = '']) => (isThere(file, link) ? [] : [link]))
}

function isThere(file: string, link: string): boolean {
  const [path = '', heading] = link.split('#', 2)
  const target = path === '' ? join(root, file) : join(root, dirname(file), path)
  return existsSync(target) && (heading === undefined || headingsOf(target).includes(heading))
}

/** As GitHub makes anchors of headings. */
function headingsOf(path: string): string[] {
  const headings = [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)]
  return headings.map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  )
}
