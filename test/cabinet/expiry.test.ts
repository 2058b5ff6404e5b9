import { expect, test } from 'vitest'
import { expiryJob } from '#worker/expiry-job'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { signedIn } from '../support/signed-in.ts'

const database = await databaseOfThisFile()
const { pool } = database
const worker = poolAs('model_gateway_worker', database)

test('what has expired is removed, in bounded steps, and nothing else', async () => {
  const { userId } = await signedIn(pool)
  const add = (count: number, age: string) =>
    pool.query(
      `with n as (select gen_random_uuid() as id from generate_series(1, $2)),
            s as (insert into sessions (id, token_hash, user_id, stage, expires_at, address, agent)
                  select id, sha256(id::text::bytea), $1, 'complete', now() - $3::interval, '', '' from n),
            t as (insert into email_tokens (token_hash, kind, user_id, expires_at)
                  select sha256(id::text::bytea), 'verify_email', $1, now() - $3::interval * 31 from n)
       insert into idempotency_keys (scope, key, request_hash, status, answer, created_at)
       select $1, id::text, '', 200, '{}', now() - $3::interval from n`,
      [userId, count, age],
    )
  await add(1_200, '25 hours')
  await add(3, '0 hours')
  const job = expiryJob(worker)
  expect([await runJob(job), await runJob(job)]).toEqual(['more', 'idle'])
  const { rows } = await pool.query(
    `select (select count(*)::int from sessions) as sessions, (select count(*)::int from email_tokens) as tokens,
            (select count(*)::int from idempotency_keys) as keys`,
  )
  expect(rows).toEqual([{ sessions: 4, tokens: 3, keys: 3 }])
})

test('how many trials a domain had is forgotten after its day', async () => {
  await pool.query(
    `insert into trial_domains (day, domain, granted_count)
     select (now() at time zone 'UTC')::date - age, 'example.org', 3 from generate_series(0, 3) age`,
  )
  await runJob(expiryJob(worker))
  const { rows } = await pool.query('select count(*)::int as count from trial_domains')
  expect(rows).toEqual([{ count: 2 }])
})

test('the worker that removes a session cannot read whose it was', async () => {
  await expect(worker.query('select user_id from sessions')).rejects.toMatchObject({ code: '42501' })
})
