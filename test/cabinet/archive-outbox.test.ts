import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { archiveJobs } from '#core/archive/archive-job'
import { createPool } from '#core/db/pool'
import { postBatch } from '#core/ledger/post-batch'
import { createCustomer, entryOf, takenBack } from '../support/customer.ts'
import { createDatabase, urlAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'

const log = pino({ level: 'silent' })
/** A database without an archive, its worker's pool, and a customer. */
async function databaseOfThisTest() {
  const database = await createDatabase()
  onTestFinished(() => database[Symbol.asyncDispose]())
  const databaseUrl = urlAs('model_gateway_worker', database.url)
  const worker = createPool({ databaseUrl, applicationName: 'archive-test', connectionCountMax: 2 })
  onTestFinished(() => worker.end())
  const customer = await createCustomer(database.pool, { balanceNano: 10n ** 9n })
  const noted = async (): Promise<readonly string[]> => {
    const { rows } = await database.pool.query('select unnest(ids) as id from archive_outbox order by 1')
    return rows.map(({ id }) => id)
  }
  return { database, worker, customer, noted }
}

test('without an archive, posting notes nothing, and what is measured is 0', async () => {
  const { database, worker, customer, noted } = await databaseOfThisTest()
  const entry = entryOf(customer, 5n)
  await postBatch(worker, [entry, takenBack(entry)])
  expect(await noted()).toEqual([])
  const { rows } = await database.pool.query(
    `select tgname from pg_trigger where tgname like 'archive%' and tgenabled = 'D' order by 1`,
  )
  expect(rows.map(({ tgname }) => tgname)).toEqual(['archive_insert', 'archive_update'])
  const registry = new Registry()
  const jobs = archiveJobs({ pool: worker, registry, log }, undefined)
  expect(jobs.map(({ name }) => name)).toEqual(['archive_backlog'])
  await runJob(jobs[0])
  expect(await registry.metrics()).toContain('model_gateway_archive_waiting 0\n')
})

test('once started, each request and correction is noted in the transaction that posts it; stopped, none is', async () => {
  const { database, worker, customer, noted } = await databaseOfThisTest()
  const [before, after, rolledBack] = [entryOf(customer, 1n), entryOf(customer, 2n), entryOf(customer, 3n)]
  await postBatch(worker, [before])
  const { rows } = await worker.query('select start_archive() as first, start_archive() as again')
  expect(rows).toEqual([{ first: true, again: false }])
  await postBatch(worker, [after])
  await postBatch(worker, [takenBack(after)])
  const client = await worker.connect()
  await client.query('begin')
  await postBatch(client, [rolledBack])
  await client.query('rollback')
  client.release()
  expect(await noted()).toEqual([after.requestId, after.requestId])

  const olderIn = async (countMax: number) =>
    (await worker.query('select note_older_for_archive($1) as count', [countMax])).rows[0]?.count
  expect([await olderIn(1), await olderIn(1), await olderIn(1)]).toEqual([1, 1, 0])
  expect(await noted()).toContain(before.requestId)
  await expect(worker.query('select stop_archive()')).rejects.toThrow('permission denied')
  await database.pool.query('select stop_archive()')
  await postBatch(worker, [entryOf(customer, 4n)])
  expect(await noted()).toEqual([])
})

test('a start waits for no more than 200 ms for a transaction that posts', async () => {
  const { worker, customer } = await databaseOfThisTest()
  const client = await worker.connect()
  await client.query('begin')
  await postBatch(client, [entryOf(customer, 1n)])
  await expect(worker.query('select start_archive()')).rejects.toThrow('lock timeout')
  await client.query('rollback')
  client.release()
})
