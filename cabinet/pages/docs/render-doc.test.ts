import { expect, test } from 'vitest'
import { renderDocs } from './read-docs.ts'
import { renderDoc } from './render-doc.ts'

const render = (markdown: string) => renderDoc(markdown, (target) => target)

test('headings have the anchors that GitHub gives them, and lead to themselves', () => {
  const { markup, sections } = render('# Errors\n\n## `invalid_api_key`\n\nText\n\n## Тело запроса: JSON\n')
  expect(markup).toContain('<h1>Errors</h1>')
  expect(markup).toContain(
    '<h2 id="invalid_api_key"><a href="#invalid_api_key"><code>invalid_api_key</code></a></h2>',
  )
  expect(sections.map(({ anchor, text }) => [anchor, text])).toEqual([
    ['errors', ''],
    ['invalid_api_key', 'Text'],
    ['тело-запроса-json', ''],
  ])
})

test('HTML in a document stays text, in code and elsewhere, and comments are left out', () => {
  const { markup } = render(
    '# A\n\n<!-- made -->\n\nA <b onclick="x">b</b> and `<i>`\n\n```html\n<script>1</script>\n```\n',
  )
  expect(markup).toContain('&lt;b onclick=')
  expect(markup).toContain('<code>&lt;i&gt;</code>')
  expect(markup).toContain('<pre><code>&lt;script&gt;1&lt;/script&gt;</code></pre>')
  expect(markup).not.toContain('made')
})

test('the description is the first paragraph without its markup, cut at a word', () => {
  expect(render('# A\n\nOne **two** [three](x.md) `four`.\n\nFive').description).toBe('One two three four.')
  const { description } = render(`# A\n\n${'word '.repeat(100)}`)
  expect(description.length).toBeLessThanOrEqual(201)
  expect(description).toMatch(/word…$/)
})

const start = '# Docs\n\nAll.\n\n- [Errors](errors.md)\n'
const files = (errors: string, more: Readonly<Record<string, string>> = {}) =>
  new Map(Object.entries({ 'README.md': start, 'ru/README.md': '# Доки\n', 'errors.md': errors, ...more }))

test.each([
  ['| code |\n| 1 |\n', 'docs/use/errors.md: line 4: a table without a line of dashes below its head'],
  ['| code |\n', 'docs/use/errors.md: line 3: a table without a line of dashes below its head'],
  [
    '| code | status |\n| --- | --- |\n| a | 1 |\n| b |\n',
    'errors.md: line 6: a row of 1 cells in a table of 2',
  ],
  ['| code |\n| --- |\n| a | b |\n', 'errors.md: line 5: a row of 2 cells in a table of 1'],
])('a broken table names its file and line: %j', (table, message) => {
  expect(() => renderDocs(files(`# Errors\n\n${table}`))).toThrow(message)
})

test('a table may have an escaped line in a cell, and one in code is text', () => {
  const docs = renderDocs(files('# E\n\n| a |\n| --- |\n| b \\| c |\n\n```\n| no table\n```\n'))
  expect(docs.find(({ file }) => file === 'errors.md')?.markup).toContain('<table')
})

test.each([
  ['[gone](gone.md)', 'docs/use/errors.md: a link to gone.md, which does not exist'],
  ['[gone](README.md#gone)', 'docs/use/errors.md: a link to README.md#gone: no such heading'],
  ['[gone](#gone)', 'docs/use/errors.md: a link to #gone: no such heading'],
])('a dead link names its file: %s', (link, message) => {
  expect(() => renderDocs(files(`# Errors\n\n${link}\n`))).toThrow(message)
})

test('a document that the first page does not link to is not forgotten', () => {
  expect(() => renderDocs(files('# E\n', { 'limits.md': '# Limits\n' }))).toThrow(
    'docs/use/limits.md: README.md has no link to it',
  )
})

test('links lead to the pages of the site, and those to code and other documents are text', () => {
  const docs = renderDocs(
    files(
      '# Errors\n\n[Docs](README.md#docs), [по-русски](ru/README.md), [code](../../core/errors/refusal.ts)\n',
    ),
  )
  const markup = docs.find(({ file }) => file === 'errors.md')?.markup
  expect(markup).toContain('<a href="/en/docs#docs">Docs</a>, <a href="/docs">по-русски</a>, code')
})
