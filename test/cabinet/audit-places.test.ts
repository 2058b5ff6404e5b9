import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { verifyChain } from '#core/audit/verify-chain'
import { migrate } from '#core/db/migrate'
import { createOlderDatabase, migrationNames } from '../support/older-database.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile, webOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const trusting = { TRUSTED_PROXY_CIDRS: '127.0.0.0/8' }
const administration = await administrationOfThisFile(database, trusting)
const web = await webOfThisFile(database, trusting)

/** An address that only one test uses. */
const newAddress = () => `203.0.${Math.floor(Math.random() * 256)}.${1 + Math.floor(Math.random() * 254)}`

async function sessionOf(table: 'sessions' | 'administrator_sessions', column: string, id: string) {
  const { rows } = await pool.query<{ id: string }>(`select id from ${table} where ${column} = $1`, [id])
  return (rows[0]?.id ?? '').slice(0, 8)
}

test('a change by an administrator keeps the session and the whole address, by which the log and its CSV can be filtered', async () => {
  const { organizationId } = await signedIn(pool)
  const { administratorId, cookie } = await signedInAdministrator(pool)
  const session = await sessionOf('administrator_sessions', 'administrator_id', administratorId)
  const address = newAddress()
  const headers = { 'x-forwarded-for': address }
  const blocked = await administration.call('POST', `/admin/organizations/${organizationId}/block`, {
    cookie,
    headers,
    body: { reason: 'A stolen card' },
  })
  expect(blocked.status).toBeLessThan(300)
  for (const filter of [`session_id=${session}`, `address=${address}`]) {
    const { body } = await administration.call('GET', `/admin/audit?${filter}`, { cookie })
    expect(body.data).toMatchObject([{ action: 'organization.block', session_id: session, address }])
    const csv = await fetch(`${administration.url}/api/v1/admin/audit.csv?${filter}`, { headers: { cookie } })
    const [head, ...lines] = (await csv.text()).trim().split(/\r?\n/)
    expect(head).toMatch(/,session_id,address$/)
    expect(lines).toHaveLength(1)
    expect(lines[0]?.endsWith(`,${session},${address}`)).toBe(true)
  }
  const other = await administration.call('GET', `/admin/audit?address=${address}0`, { cookie })
  expect(other.body.data).toEqual([])
  const token = cookie.split('=')[1] ?? ''
  const { rows } = await pool.query('select from audit_log a where position($1 in a::text) > 0', [token])
  expect(rows).toEqual([])
})

test.each([
  ['203.0.113.77', '203.0.113.0/24'],
  ['2001:db8:12:34::5', '2001:db8:12::/48'],
])('a change by a customer from %s keeps the session and only the network', async (address, network) => {
  const { userId, cookie } = await signedIn(pool)
  const body = { name: randomUUID() }
  const headers = { 'x-forwarded-for': address, 'idempotency-key': randomUUID() }
  expect((await web.call('POST', '/keys', { cookie, headers, body })).status).toBeLessThan(300)
  const { rows } = await pool.query(
    'select distinct session_id, address from audit_log where actor_id = $1',
    [userId],
  )
  const session_id = await sessionOf('sessions', 'user_id', userId)
  expect(rows).toEqual([{ session_id, address: network }])
})

test('a failed sign-in of an administrator keeps the network', async () => {
  const { administratorId } = await signedInAdministrator(pool)
  const { status } = await administration.call('POST', '/auth/login', {
    headers: { 'x-forwarded-for': '198.51.100.7' },
    body: { email: `${administratorId}@example.com`, password: 'not the password', code: '000000' },
  })
  expect(status).toBe(401)
  const { rows } = await pool.query(
    "select session_id, address from audit_log where subject_id = $1 and action = 'administrator.refuse_sign_in'",
    [administratorId],
  )
  expect(rows).toEqual([{ session_id: null, address: '198.51.100.0/24' }])
})

test('rows of before keep their hashes, and the hashes of later rows cover address and session', async () => {
  await using older = await createOlderDatabase(migrationNames.indexOf('0054-audit-places.sql'))
  const write = (columns: string, values: string) =>
    older.pool.query(
      `insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, reason${columns})
       values ('administrator', 'a', 'user.test', 'User', 'u', 'why'${values})`,
    )
  await write('', '')
  await older.pool.query('select link_audit_rows(10)')
  const before = await verifyChain(older.pool)
  await migrate(older.pool)
  expect(await verifyChain(older.pool)).toEqual({ ...before, badCount: 0, linkedCount: 1 })
  await write(', session_id, address', ", 'abcdef01', '203.0.113.7'")
  await older.pool.query('select link_audit_rows(10)')
  expect(await verifyChain(older.pool)).toMatchObject({ linkedCount: 2, badCount: 0 })
  for (const change of ["address = '203.0.113.8'", 'session_id = null']) {
    const client = await older.pool.connect()
    await client.query('begin; set local session_replication_role = replica')
    await client.query(`update audit_log set ${change} where address is not null`)
    await client.query('commit')
    client.release()
    expect(await verifyChain(older.pool)).toMatchObject({ badCount: 1, first: { why: 'edited' } })
  }
})
