import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { migrate } from '#core/db/migrate'
import { startReceiver } from '../support/money-in.ts'
import { createOlderDatabase, migrationNames } from '../support/older-database.ts'
import { createDatabase, type TestDatabase, urlAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { runEntry } from '../support/run-entry.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const newest = migrationNames.at(-1)

type Start = (database: TestDatabase, onLine: (line: string) => void) => Promise<Process>

const starts: Readonly<Record<string, Start>> = {
  worker: (database, onLine) =>
    stack.startWorker({ DATABASE_URL: urlAs('model_gateway_worker', database.url) }, onLine),
  web: (database, onLine) =>
    stack.startWeb({ DATABASE_URL: urlAs('model_gateway_cabinet', database.url) }, onLine),
  receiver: (database, onLine) => startReceiver(database, {}, onLine),
}

/** Worker, web process and receiver on one database, with their log `lines`. */
async function startOn(database: TestDatabase) {
  const started = await Promise.all(
    Object.entries(starts).map(async ([name, start]) => {
      const lines: string[] = []
      return { name, lines, process: await start(database, (line) => void lines.push(line)) }
    }),
  )
  onTestFinished(async () => {
    await Promise.all(started.map(({ process }) => process.kill()))
    await database[Symbol.asyncDispose]()
  })
  const readiness = async () => {
    const answers = await Promise.all(
      started.map(({ process }) => fetch(`${process.adminUrl}/readyz`).then((answer) => answer.text())),
    )
    return Object.fromEntries(started.map(({ name }, n) => [name, answers[n]?.trim()]))
  }
  return { started, readiness }
}

const ofAll = (answer: string) => ({ worker: answer, web: answer, receiver: answer })

test.each([0, 5, migrationNames.length - 1])(
  'on a database with %i migrations a process names the one that it waits for, once, and goes on when migrated',
  async (count) => {
    const database = await createOlderDatabase(count)
    const { started, readiness } = await startOn(database)
    await vi.waitFor(async () => expect(await readiness()).toEqual(ofAll(`waiting for migration ${newest}`)))
    await migrate(database.pool)
    await vi.waitFor(async () => expect(await readiness()).toEqual(ofAll('ok')), { timeout: 10_000 })
    const linesWith = (words: string) =>
      started.flatMap(({ name, lines }) => lines.filter((line) => line.includes(words)).map(() => name))
    expect(linesWith('waiting for migration').toSorted()).toEqual(Object.keys(starts).toSorted())
    expect(linesWith('failed')).toEqual([]) // no job has run before
    const [worker] = started
    await vi.waitFor(async () =>
      expect(
        worker && (await readMetric(worker.process, 'job_last_success_timestamp_seconds{job="expiry"}')),
      ).toBeGreaterThan(0),
    )
  },
  60_000, // migrates an empty database while three processes start
)

test.each([
  { command: 'organization', entry: 'core/organizations/main.ts', args: ['acme'] },
  { command: 'admin', entry: 'cabinet/administrators/main.ts', args: ['somebody@example.com'] },
  { command: 'invariants', entry: 'worker/invariants/main.ts', args: [] },
  { command: 'lanes', entry: 'worker/lanes/main.ts', args: ['acme'] },
  { command: 'revoke', entry: 'core/keys/main.ts', args: [randomUUID()] },
])(
  'npm run $command names the migration that a database lacks, and what to run',
  async ({ command, entry, args }) => {
    for (const count of [0, migrationNames.length - 1]) {
      await using database = await createOlderDatabase(count)
      const env = { DATABASE_URL: database.url, APP_URL: 'http://localhost:3000' }
      expect(await runEntry(entry, env, { args })).toEqual({
        code: 1,
        stdout: '',
        stderr: `npm run ${command} needs migration ${newest}, which this database does not have yet. Run npm run migrate first.\n`,
      })
    }
  },
)

test('a database that is newer than the process is good enough', async () => {
  const database = await createDatabase()
  await database.pool.query(
    "insert into schema_migrations (name, sha256) values ('9999-from-the-future.sql', 'x')",
  )
  const { readiness } = await startOn(database)
  await vi.waitFor(async () => expect(await readiness()).toEqual(ofAll('ok')))
})
