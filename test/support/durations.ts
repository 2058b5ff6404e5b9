import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestModule } from 'vitest/node'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'node_modules/.cache')
const kept = join(folder, 'test-durations.json')

/** Seconds that each test file of a project took when it last ran: `integration test/gateway/fuzz.test.ts`. */
type Durations = Readonly<Record<string, number>>

/** Remembers how long each file of a run took, for `npm run durations`. */
export function keepDurations(modules: readonly TestModule[]): void {
  const taken = modules.map((module) => {
    const { duration, setupDuration, collectDuration } = module.diagnostic()
    const seconds = (duration + setupDuration + collectDuration) / 1_000
    return [`${module.project.name} ${module.relativeModuleId}`, Number(seconds.toFixed(1))] as const
  })
  mkdirSync(folder, { recursive: true })
  writeFileSync(kept, JSON.stringify({ ...readDurations(), ...Object.fromEntries(taken) }))
}

export function readDurations(): Durations {
  try {
    return JSON.parse(readFileSync(kept, 'utf8'))
  } catch {
    return {} // nothing ran here yet
  }
}

/** A table of the longest files of each project, and a line with the rest. Pure. */
export function durationTable(durations: Durations, rowsMax: number): string {
  const rows = Object.entries(durations).toSorted(([, one], [, other]) => other - one)
  const projects = Map.groupBy(rows, ([name]) => name.split(' ')[0] ?? '')
  const sums = [...projects].map(([project, files]) => {
    const seconds = files.reduce((sum, [, taken]) => sum + taken, 0)
    return `| ${project} | ${files.length} files | ${seconds.toFixed(0)} |`
  })
  const longest = rows.slice(0, rowsMax).map(([name, taken]) => `| ${name.replace(' ', ' | ')} | ${taken} |`)
  return ['| project | files | seconds |', '| --- | --- | ---: |', ...sums, ...longest].join('\n')
}
