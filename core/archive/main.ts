import type { Pool } from 'pg'
import { z } from 'zod'
import { runOnDatabase } from '../db/run-on-database.ts'
import { BadEnvironment, readEnvironment } from '../process/environment.ts'
import { clickHouseUrlSetting } from './archive-setting.ts'
import { ArchiveProblem, type ArchiveStore, ArchiveUnavailable, openArchive } from './archive-store.ts'
import { chargeTable, requestTable } from './internal/archive-table.ts'
import { findLedgerMonths, type LeftMonth, leaveLedgerMonth, type WaitsFor } from './internal/leave-ledger.ts'
import { asOnlyHolder } from './internal/only-holder.ts'
import { stopArchive } from './internal/stop-archive.ts'
import { verifyArchive, verifyArchived } from './internal/verify.ts'
import { verifyLedger } from './internal/verify-ledger.ts'

/** Longest wait for ClickHouse's answer: a day of requests is read at once. */
const timeoutMs = 600_000

/** Advisory lock of the command that archives months of the ledger. Any fixed number. */
const ledgerLock = 0x6d67_0084

const waitingReasons: Readonly<Record<WaitsFor, string>> = {
  requests: 'requests of this month have not left Postgres. Set REQUESTS_KEPT_DAYS first.',
  stray_entries:
    'table balance_ledger_default has entries of this month or earlier ones, which belong in their own partitions.',
  audits: 'the incremental audits have not checked all of its entries yet. Run the command again.',
}

/**
 * `npm run archive -- create`: creates the archive's tables in ClickHouse. `verify`: compares them with Postgres, and exits
 * with 1 if a row differs. `ledger MONTH`: lets charges of the ledger leave Postgres, until this month, as the owner of the
 * database. `stop`: ends archiving, as the owner.
 */
const commands: Readonly<Record<string, (() => Promise<void>) | undefined>> = {
  create: () => onArchive(create),
  verify: () => onArchive(verify),
  stop: () => runOnDatabase('archive', process.env, stop),
}
const [name = '', month, ...rest] = process.argv.slice(2)
const command = readCommand()
if (command === undefined) {
  process.stderr.write('Usage: npm run archive -- create | verify | ledger YYYY-MM | stop\n')
  process.exit(2)
}
await command()

function readCommand(): (() => Promise<void>) | undefined {
  if (rest.length > 0) return undefined
  if (name === 'ledger' && month !== undefined && /^\d{4}-(0[1-9]|1[0-2])$/.test(month))
    return () => onArchive((pool, store) => archiveLedger(pool, store, month))
  return month === undefined && Object.hasOwn(commands, name) ? commands[name] : undefined
}

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
  for (const table of [requestTable, chargeTable]) {
    await archive.create(table)
    await archive.check(table)
  }
  print('The tables are ready. Set CLICKHOUSE_URL of the workers to start archiving.')
}

async function stop(pool: Pool): Promise<void> {
  await stopArchive(pool)
  print('Archiving is stopped. The tables in ClickHouse stay as they are.')
}

/** All months until this one, the oldest first. */
async function archiveLedger(pool: Pool, archive: ArchiveStore, until: string): Promise<void> {
  await archive.check(chargeTable)
  const lastName = `balance_ledger_${until.replace('-', '_')}`
  const months = (await findLedgerMonths(pool)).filter(({ partition }) => partition <= lastName)
  if (months.at(-1)?.partition !== lastName)
    return fail(`The ledger has no charges of ${until}, or it ended less than 13 months ago.`)
  const holder = { lock: ledgerLock, idleMsMax: 2 * timeoutMs }
  const isMine = await asOnlyHolder(pool, holder, async (client) => {
    for (const oldest of months)
      if (!reportMonth(oldest.partition, await leaveLedgerMonth(client, archive, oldest))) break
    return true
  })
  if (isMine !== true) fail('Another process archives the ledger.')
}

/** Whether the month left. */
function reportMonth(partition: string, left: LeftMonth): boolean {
  switch (left.is) {
    case 'left':
      print(`${partition}: ${left.charges} charges left Postgres`)
      return true
    case 'waiting':
      fail(`${partition} stays: ${waitingReasons[left.for]}`)
      return false
    case 'busy':
      fail(
        `${partition} stays: the ledger is being read. Run the command again, and not during a backup, an audit or a vacuum.`,
      )
      return false
    case 'different':
      fail(`${partition} stays: ClickHouse has other charges.`)
      for (const { id, is, columns } of left.differences) print(`  charge ${id}: ${is}${listed(columns)}`)
      return false
  }
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (${names.join(', ')})`
}

function fail(line: string): void {
  process.stderr.write(`${line}\n`)
  process.exitCode = 1
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
    for (const { id, is, columns } of differences) print(`  request ${id}: ${is}${listed(columns)}`)
    isEqual &&= differences.length === 0
  }
  for await (const { partition, differences } of verifyLedger(pool, archive)) {
    print(`${partition} (charges left Postgres): ${differences.length === 0 ? 'equal' : 'differs'}`)
    for (const { organizationId, lane, differing, changed } of differences) {
      print(`  organization ${organizationId}, lane ${lane}${listed(differing)}`)
      for (const id of changed) print(`    charge ${id}: changed in ClickHouse`)
    }
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
  fail(error.message)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
