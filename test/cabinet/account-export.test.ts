import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { cabinetOfThisFile, signUp } from '../support/cabinet.ts'

const cabinet = await cabinetOfThisFile()
const { pool } = cabinet

test('a user exports profile, consents, sessions, keys without secrets and payments, and nothing of other users', async () => {
  const [person, other] = [await signUp(cabinet), await signUp(cabinet)]
  const key = await person.visitor.call(
    'POST',
    '/keys',
    { name: 'One', daily_budget_rub: '12.5', allowed_models: ['a/b'], allowed_ips: ['203.0.113.0/24'] },
    { 'idempotency-key': randomUUID() },
  )
  const { rows } = await pool.query('select organization_id as id from memberships where user_id = $1', [
    person.userId,
  ])
  const organizationId: string = rows[0].id
  await pool.query(
    'insert into payments (id, organization_id, user_id, amount, next_call_at) values ($1, $2, $3, 100000000000, null)',
    [randomUUID(), organizationId, person.userId],
  )
  const { status, body, text } = await person.visitor.get('/me/export')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    profile: { id: person.userId, email: person.email, second_factor_since: null },
    organizations: [
      {
        id: organizationId,
        role: 'owner',
        is_complete: true,
        keys: [
          {
            name: 'One',
            daily_budget_rub: '12.5',
            allowed_models: ['a/b'],
            allowed_ips: ['203.0.113.0/24'],
            revoked_at: null,
          },
        ],
        payments: [{ amount_rub: '100', refunded_rub: '0', status: 'pending' }],
      },
    ],
  })
  expect(body.consents.map(({ kind }: { kind: string }) => kind).sort()).toEqual(['offer', 'personal_data'])
  expect(body.sessions).toHaveLength(1)
  for (const secret of [key.body.secret, other.email, other.userId]) expect(text).not.toContain(secret)
  const [organization] = body.organizations
  for (const link of [organization.requests_csv, organization.ledger_csv]) {
    const { pathname, search } = new URL(link)
    const file = await person.visitor.get(`${pathname.replace('/api/v1', '')}${search}`)
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
  }
})

test('a member exports only what their role sees', async () => {
  const person = await signUp(cabinet)
  const exported = async (role: string) => {
    await pool.query('update memberships set role = $2 where user_id = $1', [person.userId, role])
    const [{ keys, payments, ledger_csv }] = (await person.visitor.get('/me/export')).body.organizations
    return [keys, payments, typeof ledger_csv]
  }
  expect(await exported('developer')).toEqual([[], null, 'object'])
  expect(await exported('accountant')).toEqual([null, [], 'string'])
  await pool.query('delete from memberships where user_id = $1', [person.userId])
  expect((await person.visitor.get('/me/export')).body.organizations).toEqual([])
})
