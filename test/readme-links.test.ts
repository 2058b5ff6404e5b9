import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

test('every relative link in a Markdown file leads to a file and a heading that exist', () => {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  })
  const broken = files
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)))
    .flatMap((file) => brokenLinksOf(file).map((link) => `${file}: ${link}`))
  expect(broken).toEqual([])
})

function brokenLinksOf(file: string): string[] {
  const links = [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
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
