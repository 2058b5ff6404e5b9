import { parseArgs } from 'node:util'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { cases } from './all-cases.ts'
import { doorFaults, doors, junkAtTheDoor, startDoors } from './door/junk-at-the-door.ts'
import { type CaseReport, findBreaches, runCase } from './run-case.ts'
import { startAbuseSystem } from './support/system.ts'
import { formatWay, isOfWay } from './support/ways.ts'

/**
 * `npm run abuse`: every attack, three times, while good traffic goes on. Exits 1 if an attack had more effect than it may.
 *
 * `--only nested-json,made-up-keys`; `--seconds N` (4) of each attack; `--turns N` (3). `junk-at-the-door` attacks the
 * cabinet: `--door-seconds N` (300) at each of its public endpoints.
 */
const text = { type: 'string' } as const
const { values } = parseArgs({ options: { only: text, seconds: text, turns: text, 'door-seconds': text } })
const only = values.only?.split(',')
const attackMs = Number(values.seconds ?? 4) * 1_000
const chosen = cases.filter(({ name }) => only === undefined || only.includes(name))
const attacksDoors = only === undefined || only.includes('junk-at-the-door')
const doorMs = Number(values['door-seconds'] ?? 300) * 1_000
const say = (line: string) => void process.stdout.write(`${line}\n`)

function format(report: CaseReport): string {
  const { name, quiet, attacked, growthMiB, goodRequests, figures } = report
  const breaches = findBreaches(report)
  const counted = Object.entries(figures)
    .filter(([figure]) => !isOfWay(figure))
    .map(([figure, count]) => `${figure} ${Number(count.toFixed(2))}`)
  return [
    `${breaches.length === 0 ? 'ok    ' : 'BREACH'} ${name.padEnd(24)} p99 ${quiet.p99Ms.toFixed(1)} → ${attacked.p99Ms.toFixed(1)} ms, +${Math.round(growthMiB)} MiB, ${goodRequests} good requests; ${counted.join(', ')}`,
    ...[...report.ways.map(formatWay), ...breaches].map((line) => `       ${line}`),
  ].join('\n')
}

async function attackDoors(): Promise<void> {
  await using cabinet = await startDoors(postgres.url)
  for (const door of doors) {
    const report = await junkAtTheDoor(cabinet, door, doorMs)
    const faults = doorFaults(report)
    say(
      `${faults.length === 0 ? 'ok    ' : 'BREACH'} junk-at-the-door ${door}: ${report.genuineCount} genuine calls, p95 ${Math.round(report.p95Ms)} ms; junk by status ${JSON.stringify(report.junk)}`,
    )
    for (const fault of faults) say(`       ${fault}`)
    if (faults.length > 0) process.exitCode = 1
  }
}

// Everything that was started ends with this process, if only it ends by an exit.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(130))

const postgres = await startEmbeddedPostgres({ durability: 'fast' })
const pool = createPool({ databaseUrl: postgres.url, applicationName: 'abuse' })
await migrate(pool)
await pool.end()
const system = await startAbuseSystem(postgres.url, chosen)
try {
  for (const abuse of chosen) {
    const report = await runCase(system, abuse, {
      count: Number(values.turns ?? 3),
      quietMs: attackMs,
      attackMs,
    })
    say(format(report))
    if (findBreaches(report).length > 0) process.exitCode = 1
  }
  if (attacksDoors) await attackDoors()
} finally {
  await system.stop()
  await postgres[Symbol.asyncDispose]()
}
