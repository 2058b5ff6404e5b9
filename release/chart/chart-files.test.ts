import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chartFiles } from './internal/chart-files.ts'

const chart = join(import.meta.dirname, '../../charts/model-gateway')

test('files that the chart takes from elsewhere equal their sources: else run `npm run chart`', () => {
  for (const [path, text] of chartFiles())
    expect([path, readFileSync(join(chart, path), 'utf8')]).toEqual([path, text])
})
