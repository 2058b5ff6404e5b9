import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Process } from './processes.ts'

/** A row of the table of metrics in a README. */
export type MetricRow = {
  readonly names: readonly string[]
  readonly meaning: string
  /** When to wake somebody, in words; empty: never. */
  readonly alarm: string
}

/** The READMEs that describe what a process measures. */
export const metricReadmes = [
  'gateway/README.md',
  'cabinet/worker/README.md',
  'cabinet/web/README.md',
  'cabinet/webhook/README.md',
  'operator/README.md',
] as const

/** Reads the table that begins with `| metric`. @throws Error when there is none */
export function readMetricTable(readme: (typeof metricReadmes)[number]): readonly MetricRow[] {
  const text = readFileSync(join(import.meta.dirname, '../..', readme), 'utf8')
  const [, table] = /^\| metric +\| meaning +\| alarm +\|\n\|[- |]+\|\n((?:\|.*\n)+)/m.exec(text) ?? []
  if (table === undefined) throw new Error(`${readme} has no table of metrics`)
  return table
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, names = '', meaning = '', alarm = ''] = line.split('|').map((cell) => cell.trim())
      return { names: [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name), meaning, alarm }
    })
}

/** Names of all that a process measures; a histogram counts once. */
export async function readMetricNames({ adminUrl }: Process): Promise<readonly string[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  return [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name)
}
