import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Versioned } from './release-notes.ts'

const packageSchema = z.object({ version: z.string() })
const chartSchema = z.object({
  version: z.string(),
  appVersion: z.string(),
  annotations: z.object({ 'artifacthub.io/images': z.string() }),
})

/** Reads this checkout. */
export function readVersioned(): Versioned {
  const { annotations, ...chart } = chartSchema.parse(parse(textOf('charts/model-gateway/Chart.yaml')))
  return {
    packageJson: packageSchema.parse(JSON.parse(textOf('package.json'))),
    chart: { ...chart, images: annotations['artifacthub.io/images'] },
    changelog: textOf('CHANGELOG.md'),
  }
}

function textOf(path: string): string {
  return readFileSync(join(import.meta.dirname, '../../..', path), 'utf8')
}
