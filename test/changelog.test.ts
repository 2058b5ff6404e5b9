import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { oldNamesEndIn, renamed } from '#core/process/renamed'

test('CHANGELOG.md has one line for each public name that changed, and the release in which the old one ends', () => {
  const changelog = readFileSync(join(import.meta.dirname, '../CHANGELOG.md'), 'utf8')
  const [, after = ''] = changelog.split('\n### Deprecated\n')
  const [deprecated = ''] = after.split(/\n##/)
  const expected = Object.values(renamed).flatMap((names) =>
    Object.entries(names).map(([name, oldName]) => `- \`${oldName}\` → \`${name}\``),
  )
  expect(deprecated.match(/^- .+$/gm)?.toSorted()).toEqual(expected.toSorted())
  expect(deprecated).toContain(`These names work until ${oldNamesEndIn}.`)
})
