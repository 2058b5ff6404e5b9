import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { verifyChain } from '#core/audit/verify-chain'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { aPassword, cabinetOfThisFile, signUp } from '../support/cabinet.ts'
import { poolAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'

const cabinet = await cabinetOfThisFile()
const { pool, database } = cabinet
const administration = await administrationOfThisFile(database)

const reason = 'The user asks for it in writing'

/** A user who signed up, with no money, and an administrator who may delete the account. */
async function registered() {
  const person = await signUp(cabinet)
  const { userId, email } = person
  const { rows } = await pool.query('select organization_id as id from memberships where user_id = $1', [
    userId,
  ])
  const organizationId: string = rows[0].id
  await pay(organizationId)
  const { cookie, administratorId } = await signedInAdministrator(pool)
  const remove = (typed = email) =>
    administration.call('POST', `/admin/users/${userId}/delete`, {
      cookie,
      headers: { 'accept-language': 'en' },
      body: { reason, email: typed },
    })
  return { ...person, organizationId, administratorId, cookie, remove }
}

/** Takes what is left of the balance, such as the trial. */
async function pay(organizationId: string): Promise<void> {
  const { rows } = await pool.query('select balance from org_account where organization_id = $1', [
    organizationId,
  ])
  const balance: bigint = rows[0].balance
  if (balance > 0n)
    await inTestScope(pool, (client) =>
      credit(client, { organizationId, kind: 'adjustment', refId: randomUUID(), amount: nanoRub(-balance) }),
    )
}

async function createKey(person: Awaited<ReturnType<typeof registered>>): Promise<string> {
  const { body } = await person.visitor.call(
    'POST',
    '/keys',
    { name: 'One' },
    { 'idempotency-key': randomUUID() },
  )
  return body.key?.id ?? body.id
}

/** Every column of text or JSON in the database that contains a text. */
async function placesOf(text: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ table: string; column: string }>(
    `select c.table_name as table, c.column_name as column from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type in ('text', 'jsonb', 'ARRAY')`,
  )
  const found: string[] = []
  for (const { table, column } of rows) {
    const { rowCount } = await pool.query(
      `select from "${table}" where strpos(lower("${column}"::text), lower($1)) > 0 limit 1`,
      [text],
    )
    if (rowCount !== 0) found.push(`${table}.${column}`)
  }
  return found
}

describe('a deleted account', () => {
  test('leaves its address nowhere in the database, and the ledger, consents and audit log as they were', async () => {
    const person = await registered()
    const { userId, email, organizationId, remove } = person
    await cabinet.visitor().post('/auth/password/forgot', { email })
    const rowsOf = async (sql: string) => (await pool.query(sql, [userId])).rows
    const consents =
      'select id, user_id, kind, version, sha256, locale, withdrawn, at from consents where user_id = $1 order by id'
    const before = [await rowsOf(consents), await ledgerOf(organizationId)]
    expect(before[0]).toHaveLength(2)
    expect((await placesOf(email)).length).toBeGreaterThan(1)
    const { rows: log } = await pool.query('select to_jsonb(a) as row from audit_log a order by id')
    const { status, body } = await remove(email.toUpperCase())
    expect([status, body]).toEqual([204, ''])
    expect(await placesOf(email)).toEqual([])
    expect([await rowsOf(consents), await ledgerOf(organizationId)]).toEqual(before)
    expect(await rowsOf('select distinct address, agent from consents where user_id = $1')).toEqual([
      { address: '', agent: '' },
    ])
    const { rows: after } = await pool.query(
      'select to_jsonb(a) as row from audit_log a order by id limit $1',
      [log.length],
    )
    expect(after).toEqual(log)
    await pool.query('select link_audit_rows(10000)')
    expect(await verifyChain(pool)).toMatchObject({ badCount: 0, first: undefined })
  })

  test('ends its sessions and memberships, and revokes its keys', async () => {
    const person = await registered()
    const { visitor, userId, organizationId, remove, administratorId } = person
    const keyId = await createKey(person)
    await pool.query(
      `insert into management_tokens (id, organization_id, created_by, name, scopes, token_hash, hint, expires_at)
       values (gen_random_uuid(), $1, $2, 'Terraform', '{keys}', sha256($3), 'mt', now() + interval '1 day')`,
      [organizationId, userId, organizationId],
    )
    expect((await remove()).status).toBe(204)
    expect((await visitor.get('/me')).status).toBe(401)
    const { rows } = await pool.query(
      `select (select revoked_at is not null from api_keys where id = $1) as "isRevoked",
              (select blocked_at is not null from organizations where id = $3) as "isBlocked",
              (select count(*)::int from management_tokens where organization_id = $3 and revoked_at is null) as tokens,
              (select count(*)::int from memberships where user_id = $2) as memberships,
              (select count(*)::int from sessions where user_id = $2) as sessions`,
      [keyId, userId, organizationId],
    )
    expect(rows).toEqual([{ isRevoked: true, isBlocked: true, tokens: 0, memberships: 0, sessions: 0 }])
    const { rows: audited } = await pool.query(
      `select action, actor_id, reason from audit_log
        where action in ('user.delete', 'key.revoke', 'organization.remove_member') and reason = $1
          and (subject_id = any($2)) order by action`,
      [reason, [keyId, userId, organizationId]],
    )
    expect(audited).toEqual(
      ['key.revoke', 'organization.remove_member', 'user.delete'].map((action) => ({
        action,
        actor_id: administratorId,
        reason,
      })),
    )
  })

  test('is unknown at sign-in, and its address can register again without another trial', async () => {
    const { email, remove } = await registered()
    expect((await remove()).status).toBe(204)
    const answer = await cabinet.visitor().post('/auth/login', { email, password: aPassword })
    const unknown = await cabinet.visitor().post('/auth/login', {
      email: `${randomUUID()}@example.com`,
      password: aPassword,
    })
    expect([answer.status, answer.body.code]).toEqual([unknown.status, unknown.body.code])
    const again = await signUp(cabinet, email)
    expect((await again.visitor.get('/me')).body.email).toBe(email)
  })

  test('stays deleted: it is not deleted twice, and not unblocked', async () => {
    const { userId, email, cookie, remove } = await registered()
    expect((await remove()).status).toBe(204)
    expect((await remove(email)).status).toBe(404)
    await administration.call('POST', `/admin/users/${userId}/unblock`, { cookie, body: { reason } })
    const { rows } = await pool.query('select blocked_at is not null as blocked from users where id = $1', [
      userId,
    ])
    expect(rows).toEqual([{ blocked: true }])
  })
})

describe('an account is not deleted', () => {
  test('while its organization would be left with money or an unfinished payment', async () => {
    const { userId, organizationId, remove } = await registered()
    await inTestScope(pool, (client) =>
      credit(client, { organizationId, kind: 'adjustment', refId: randomUUID(), amount: nanoRub(1n) }),
    )
    expect((await remove()).body.code).toBe('account_has_balance')
    await pay(organizationId)
    await pool.query(
      'insert into payments (id, organization_id, user_id, amount) values ($1, $2, $3, 100000000000)',
      [randomUUID(), organizationId, userId],
    )
    expect((await remove()).body.code).toBe('account_has_balance')
    const { rows } = await pool.query('select deleted_at from users where id = $1', [userId])
    expect(rows).toEqual([{ deleted_at: null }])
  })

  test('while other members would be left without an owner; with one, the keys of the organization keep working', async () => {
    const person = await registered()
    const { organizationId, remove } = person
    const other = await signedIn(pool, { organizationId, memberRole: 'developer' })
    const keyId = await createKey(person)
    expect((await remove()).body.code).toBe('last_owner')
    await pool.query("update memberships set role = 'owner' where user_id = $1", [other.userId])
    expect((await remove()).status).toBe(204)
    const { rows } = await pool.query(
      `select k.revoked_at, o.blocked_at from api_keys k join organizations o on o.id = k.organization_id where k.id = $1`,
      [keyId],
    )
    expect(rows).toEqual([{ revoked_at: null, blocked_at: null }])
  })

  test('without the address typed as it is, or a code of the last minutes', async () => {
    const { userId, remove, email } = await registered()
    const { status, body } = await remove('other@example.com')
    expect([status, body.errors[0].path]).toEqual([422, 'email'])
    const { cookie } = await signedInAdministrator(pool, { mfaAt: new Date(Date.now() - 3_600_000) })
    const late = await administration.call('POST', `/admin/users/${userId}/delete`, {
      cookie,
      body: { reason, email },
    })
    expect(late.body.code).toBe('mfa_step_up_required')
  })
})

test('consents lose nothing but their place, even for the owner of the database', async () => {
  const { userId } = await registered()
  for (const sql of [
    "update consents set version = 'x', address = '', agent = ''",
    "update consents set address = 'elsewhere'",
    'delete from consents',
  ])
    await expect(pool.query(`${sql} where user_id = $1`, [userId])).rejects.toThrow()
  const administrators = poolAs('model_gateway_administration', database)
  await expect(administrators.query("update consents set address = ''")).rejects.toMatchObject({
    code: '42501',
  })
})

async function ledgerOf(organizationId: string) {
  const { rows } = await pool.query('select * from balance_ledger where organization_id = $1 order by seq', [
    organizationId,
  ])
  return rows
}
