import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { chartFiles } from './internal/chart-files.ts'

/** `npm run chart` writes the generated files of the chart. */
const chart = join(import.meta.dirname, '../../charts/model-gateway')
for (const [path, text] of chartFiles()) {
  mkdirSync(dirname(join(chart, path)), { recursive: true })
  writeFileSync(join(chart, path), text)
}
