import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Process } from './processes.ts'

/** A row of a table of metrics. */
export type MetricRow = {
  readonly name: string
  /** Alerts that watch it. */
  readonly alerts: readonly string[]
}

/** The sections of the page, one per process. */
export const metricSections = ['Gateway', 'Worker', 'Cabinet', 'Webhook receiver', 'Operator'] as const

/** Reads the table of metrics of a section. @throws Error when there is none */
export function readMetricTable(section: (typeof metricSections)[number]): readonly MetricRow[] {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operate/metrics.md'), 'utf8')
  const [, after = ''] = page.split(`\n## ${section}\n`)
  const [text = ''] = after.split('\n## ')
  const [, table] =
    /^\| metric \| meaning \| labels \| alerts \|\n\|[- |]+\|\n((?:\|.*\n?)+)/m.exec(text) ?? []
  if (table === undefined) throw new Error(`metrics.md has no table for ${section}`)
  return table
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, name = '', , , alerts = ''] = line.split('|').map((cell) => cell.trim())
      return {
        name: name.replaceAll('`', ''),
        alerts: [...alerts.matchAll(/\[(\w+)\]/g)].map(([, alert = '']) => alert),
      }
    })
}

/** Names of all that a process measures, without the deprecated ones; a histogram counts once. */
export async function readMetricNames(process: Process): Promise<readonly string[]> {
  return namesIn(await scrape(process), /^# HELP (\w+) (?!Deprecated: )/gm)
}

/** Old names of metrics that a process still serves. */
export async function readDeprecatedNames(process: Process): Promise<readonly string[]> {
  return namesIn(await scrape(process), /^# HELP (\w+) Deprecated: /gm)
}

const scrape = async ({ adminUrl }: Process) => (await fetch(`${adminUrl}/metrics`)).text()

function namesIn(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name)
}
