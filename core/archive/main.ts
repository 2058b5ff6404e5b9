import type { Pool } from 'pg'
import { z } from 'zod'
import { runOnDatabase } from '../db/run-on-database.ts'
import { BadEnvironment, readEnvironment } from '../process/environment.ts'
import { clickHouseUrlSetting } from './archive-setting.ts'
import { ArchiveProblem, type ArchiveStore, ArchiveUnavailable, openArchive } from './archive-store.ts'
import { stopArchive } from './internal/stop-archive.ts'
import { verifyArchive, verifyArchived } from './internal/verify.ts'

/** Longest wait for ClickHouse's answer: a day of requests is read at once. */
const timeoutMs = 600_000

/**
 * `npm run archive -- create`: creates the archive's table in ClickHouse. `verify`: compares it with Postgres, and exits
 * with 1 if a request differs. `stop`: ends archiving, as the owner of the database.
 */
const commands: Readonly<Record<string, () => Promise<void>>> = {
  create: () => onArchive(create),
  verify: () => onArchive(verify),
  stop: () => runOnDatabase('archive', process.env, stop),
}
const [name = '', ...rest] = process.argv.slice(2)
const command = Object.hasOwn(commands, name) && rest.length === 0 ? commands[name] : undefined
if (command === undefined) {
  process.stderr.write('Usage: npm run archive -- create | verify | stop\n')
  process.exit(2)
}
await command()

async function onArchive(work: (pool: Pool, store: ArchiveStore) => Promise<void>): Promise<void> {
  const store = openSetStore()
  if (store === undefined) return
  try {
    await runOnDatabase('archive', process.env, (pool) => work(pool, store).catch(reportFailure))
  } finally {
    await store.close()
  }
}

async function create(_pool: Pool, archive: ArchiveStore): Promise<void> {
  await archive.create()
  await archive.check()
  print('The table is ready. Set CLICKHOUSE_URL of the workers to start archiving.')
}

async function stop(pool: Pool): Promise<void> {
  await stopArchive(pool)
  print('Archiving is stopped. The table in ClickHouse stays as it is.')
}

async function verify(pool: Pool, archive: ArchiveStore): Promise<void> {
  let isEqual = true
  for await (const { partition, differing } of verifyArchived(pool, archive)) {
    print(
      `${partition} (left Postgres): ${differing.length === 0 ? 'equal' : `differs (${differing.join(', ')})`}`,
    )
    isEqual &&= differing.length === 0
  }
  for await (const { month, differences } of verifyArchive(pool, archive)) {
    print(`${month}: ${differences.length === 0 ? 'equal' : 'differs'}`)
    for (const { id, is, columns } of differences)
      print(`  request ${id}: ${is}${columns.length === 0 ? '' : ` (${columns.join(', ')})`}`)
    isEqual &&= differences.length === 0
  }
  if (!isEqual) process.exitCode = 1
}

function openSetStore(): ArchiveStore | undefined {
  try {
    const schema = z.object({ CLICKHOUSE_URL: clickHouseUrlSetting })
    return openArchive(readEnvironment('npm run archive', schema, process.env).CLICKHOUSE_URL, { timeoutMs })
  } catch (error) {
    if (!(error instanceof BadEnvironment)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
    return undefined
  }
}

function reportFailure(error: unknown): void {
  if (!(error instanceof ArchiveProblem || error instanceof ArchiveUnavailable)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
