import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { docFiles } from './internal/doc-files.ts'

test('generated pages are up to date: otherwise run `npm run docs`', () => {
  for (const [path, text] of docFiles())
    expect([path, readFileSync(join(import.meta.dirname, '..', path), 'utf8')]).toEqual([path, text])
})
