import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { findChainCheck } from '#core/audit/chain-check'
import { auditChainCheckJob } from '#core/audit/chain-check-job'
import { auditChainJob } from '#core/audit/chain-job'
import { verifyChain } from '#core/audit/verify-chain'
import { createDatabase, databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { inTestScope } from '../support/scope.ts'

const database = await databaseOfThisFile()

/** Writes rows of the audit log, each in a separate transaction. */
async function write(pool: Pool, count: number): Promise<void> {
  for (let written = 0; written < count; written++)
    await inTestScope(pool, (client) =>
      client.change('select', [], () => ({
        action: 'user.test',
        subject: { kind: 'User', id: randomUUID() },
        organizationId: null,
        before: { ruble: '₽', nothing: null },
        after: { number: 1.5, list: [1, null, 'x'] },
      })),
    )
}

const link = (pool: Pool, countMax = 1_000) => pool.query('select link_audit_rows($1)', [countMax])

/** Seven linked rows, and what a superuser may do to them, in spite of triggers. */
async function linked() {
  const database = await createDatabase()
  const { pool } = database
  await write(pool, 7)
  await link(pool)
  const { rows } = await pool.query<{ id: bigint }>('select id from audit_log order by id')
  const asSuperuser = async (...statements: readonly string[]) => {
    const client = await pool.connect()
    await client.query('set session_replication_role = replica')
    for (const sql of statements) await client.query(sql)
    await client.query('reset session_replication_role')
    client.release()
  }
  const ids = rows.map(({ id }) => String(id))
  return { database, pool, asSuperuser, ids, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

test('the chain of a sound audit log holds, whatever time zone and format of dates it is read with', async () => {
  await using log = await linked()
  expect(await verifyChain(log.pool)).toMatchObject({ linkedCount: 7, badCount: 0, first: undefined })
  const { rows } = await log.pool.query<{ name: string }>('select current_database() as name')
  await log.pool.query(`alter database "${rows[0]?.name}" set timezone = 'Asia/Tokyo'`)
  await log.pool.query(`alter database "${rows[0]?.name}" set datestyle = 'German'`)
  const elsewhere = poolAs('model_gateway_worker', log.database)
  expect((await elsewhere.query('show timezone')).rows).toEqual([{ TimeZone: 'Asia/Tokyo' }])
  const text = `select a.id, (jsonb_strip_nulls(to_jsonb(a) - 'at' - 'before' - 'after')
    || jsonb_build_object('at', extract(epoch from a.at)::text, 'before', a.before, 'after', a.after))::text
    from audit_log a order by id`
  expect((await elsewhere.query(text)).rows).toEqual((await log.pool.query(text)).rows)
  await write(log.pool, 3)
  await link(elsewhere)
  expect(await verifyChain(log.pool)).toMatchObject({ linkedCount: 10, badCount: 0 })
})

describe('a superuser who', () => {
  test.each<[string, (id: string) => readonly string[], string]>([
    ['edits a reason', (id) => [`update audit_log set reason = 'another' where id = ${id}`], 'edited'],
    ['changes who acted', (id) => [`update audit_log set actor_id = 'nobody' where id = ${id}`], 'edited'],
    [
      'moves a row in time by a microsecond',
      (id) => [`update audit_log set at = at + '1 us' where id = ${id}`],
      'edited',
    ],
    [
      'changes a value',
      (id) => [`update audit_log set after = after || '{"number": 1.6}' where id = ${id}`],
      'edited',
    ],
    ['adds a value', (id) => [`update audit_log set before = '{"ruble": "₽"}' where id = ${id}`], 'edited'],
    ['deletes a row', (id) => [`delete from audit_log where id = ${id}`], 'deleted'],
    ['takes a row out of the chain', (id) => [`delete from audit_chain where audit_id = ${id}`], 'missing'],
  ])('%s is found, and the row is named', async (_, statements, why) => {
    await using log = await linked()
    const id = log.ids[3] ?? ''
    await log.asSuperuser(...statements(id))
    const { badCount, first } = await verifyChain(log.pool)
    expect(badCount).toBeGreaterThan(0)
    if (why === 'missing') {
      // The row after it is the first one in the chain that does not follow.
      expect(first).toEqual({ auditId: log.ids[4], why: 'out of place in the chain' })
      expect(badCount).toBe(2)
    } else expect({ badCount, first }).toEqual({ badCount: 1, first: { auditId: id, why } })
  })

  test('deletes a row and its link is found at the next row', async () => {
    await using log = await linked()
    const id = log.ids[3]
    await log.asSuperuser(
      `delete from audit_log where id = ${id}`,
      `delete from audit_chain where audit_id = ${id}`,
    )
    expect(await verifyChain(log.pool)).toMatchObject({
      badCount: 1,
      first: { auditId: log.ids[4], why: 'out of place in the chain' },
    })
  })

  test('edits a row and its own hash is found at the next row', async () => {
    await using log = await linked()
    const id = log.ids[3]
    await log.asSuperuser(
      `update audit_log set reason = 'another' where id = ${id}`,
      `update audit_chain c set hash = sha256(c.previous_hash || convert_to(audit_row_text(a), 'UTF8'))
         from audit_log a where a.id = c.audit_id and a.id = ${id}`,
    )
    expect((await verifyChain(log.pool)).first).toEqual({
      auditId: log.ids[4],
      why: 'out of place in the chain',
    })
  })

  test('adds a row without its link, or deletes one before it is linked, is found', async () => {
    await using log = await linked()
    await log.asSuperuser(
      `insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id)
       values ('administrator', 'x', 'user.test', 'User', 'forged')`,
    )
    expect((await verifyChain(log.pool)).first?.why).toBe('missing in the chain')
    await log.asSuperuser("delete from audit_log where subject_id = 'forged'")
    await write(log.pool, 1)
    await log.asSuperuser('delete from audit_log where id = (select max(id) from audit_log)')
    expect((await verifyChain(log.pool)).first?.why).toBe('deleted')
  })
})

describe('linking', () => {
  test('by four workers at once, while eight writers append, forks nothing and leaves nothing out', async () => {
    await using database = await createDatabase()
    const worker = poolAs('model_gateway_worker', database)
    let isWriting = true
    const linkers = Array.from({ length: 4 }, async () => {
      while (isWriting) await link(worker, 5)
    })
    await Promise.all(Array.from({ length: 8 }, () => write(database.pool, 25)))
    isWriting = false
    await Promise.all(linkers)
    await runJob(auditChainJob(worker))
    expect(await verifyChain(database.pool)).toMatchObject({ linkedCount: 200, badCount: 0 })
  })

  test('takes a row whose transaction committed after later ones', async () => {
    await using database = await createDatabase()
    const late = await database.pool.connect()
    await late.query('begin')
    await late.query(
      "insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id) values ('job', 'x', 'a.b', 'User', 'late')",
    )
    await write(database.pool, 3)
    await link(database.pool)
    await late.query('commit')
    late.release()
    await link(database.pool)
    expect(await verifyChain(database.pool)).toMatchObject({ linkedCount: 4, badCount: 0 })
  })
})

describe('no process', () => {
  const statements = [
    "insert into audit_chain (position, audit_id, previous_hash, hash) values (1, 1, '', sha256(''))",
    "update audit_chain set hash = sha256('')",
    'delete from audit_chain',
    'truncate audit_chain',
    'delete from audit_unlinked',
    'insert into audit_unlinked values (1)',
  ]
  const roles = ['cabinet', 'administration', 'worker', 'operator', 'webhook'].map(
    (name) => `model_gateway_${name}`,
  )
  test.each(roles)('changes the chain: %s', async (role) => {
    const pool = poolAs(role, database)
    for (const sql of statements) await expect(pool.query(sql), sql).rejects.toMatchObject({ code: '42501' })
    if (role !== 'model_gateway_worker') await expect(link(pool)).rejects.toMatchObject({ code: '42501' })
  })
})

test('a worker checks the chain once a night, and its metric and log name the first bad row', async () => {
  await using log = await linked()
  const registry = new Registry()
  const errors: unknown[] = []
  const quiet = () => undefined
  const job = auditChainCheckJob({
    pool: poolAs('model_gateway_worker', log.database),
    registry,
    log: { debug: quiet, info: quiet, warn: quiet, error: (facts) => void errors.push(facts) },
  })
  const badRows = async () =>
    (await registry.getSingleMetric('model_gateway_audit_chain_bad_rows')?.get())?.values[0]?.value
  await runJob(job)
  expect(await badRows()).toBe(0)
  const sound = await findChainCheck(log.pool)
  expect(sound).toMatchObject({ linkedCount: 7, badCount: 0, head: expect.stringMatching(/^[0-9a-f]{64}$/) })

  await log.asSuperuser(`update audit_log set reason = 'another' where id = ${log.ids[3]}`)
  await runJob(job)
  expect(await findChainCheck(log.pool)).toEqual(sound) // not due
  await log.pool.query("update audit_chain_check set checked_at = now() - interval '25 hours'")
  await runJob(job)
  expect(await badRows()).toBe(1)
  expect(errors).toEqual([{ badCount: 1, auditId: log.ids[3], why: 'edited' }])

  await log.asSuperuser(`update audit_log set reason = null where id = ${log.ids[3]}`)
  await log.pool.query("update audit_chain_check set checked_at = now() - interval '25 hours'")
  await runJob(job)
  expect(await badRows()).toBe(0)
})
