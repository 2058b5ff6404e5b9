import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { inReadScope } from '#core/audit/scope'
import { readKeyStates } from '#core/keys/key-state'
import { createKey } from '#core/keys/key-store'
import { setOrganizationBlocked } from '#core/keys/organization-block'
import { readBalance } from '#core/ledger/balance'
import { checkInvariants } from '#core/ledger/invariants'
import { createCustomer, pepper } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile, type CallOptions, webOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const cabinet = await webOfThisFile(database)
const administration = await administrationOfThisFile(database)
const english = { 'accept-language': 'en' }

const administrator = (mfaAt = new Date()) => signedInAdministrator(pool, { mfaAt })

async function auditOf(subjectId: string) {
  const { rows } = await pool.query(
    `select action, actor_kind, actor_id, reason from audit_log where subject_id = $1 order by id`,
    [subjectId],
  )
  return rows
}

test('an administrator’s session ends half an hour after its last call, twelve hours after its begin, and when it is blocked', async () => {
  const call = (cookie: string) => administration.call('GET', '/admin/audit?limit=1', { cookie })
  const after = async (change: string) => {
    const { administratorId, cookie } = await administrator()
    await pool.query(change, [administratorId])
    return (await call(cookie)).status
  }
  const seen = (minutes: number) =>
    `update administrator_sessions set seen_at = now() - interval '${minutes} minutes' where administrator_id = $1`
  expect([await after(seen(29)), await after(seen(30))]).toEqual([200, 401])
  const begun = (span: string) =>
    `update administrator_sessions set created_at = created_at - interval '${span}', expires_at = expires_at - interval '${span}'
      where administrator_id = $1`
  expect([await after(begun('11 hours 59 minutes')), await after(begun('12 hours'))]).toEqual([200, 401])
  expect(await after('update administrators set blocked_at = now() where id = $1')).toBe(401)
})

test('no session of the cabinet opens administration, and no session of administration the cabinet', async () => {
  const [user, admin] = [await signedIn(pool, { hasTotp: true, mfaAt: new Date() }), await administrator()]
  const token = (cookie: string) => cookie.split('=')[1]
  const asAdministrator = `__Host-model_gateway_administration=${token(user.cookie)}`
  const asUser = `__Host-model_gateway_session=${token(admin.cookie)}`
  for (const cookie of [user.cookie, asAdministrator])
    expect((await administration.call('GET', '/admin/users', { cookie })).status).toBe(401)
  for (const cookie of [admin.cookie, asUser])
    expect((await cabinet.call('GET', '/me', { cookie })).status).toBe(401)
})

test('only administrators learn that an administration path does not exist', async () => {
  const { cookie } = await administrator()
  expect((await administration.call('PATCH', '/admin/nothing', { cookie })).body.code).toBe('not_found')
  expect((await administration.call('PATCH', '/admin/nothing')).body.code).toBe('unauthenticated')
})

describe('a person', () => {
  test('who is blocked is signed out at once and cannot come back until he is unblocked', async () => {
    const [admin, person] = [await administrator(), await signedIn(pool)]
    const other = await signedIn(pool, { organizationId: person.organizationId })
    const block = (verb: 'block' | 'unblock') =>
      administration.call('POST', `/admin/users/${person.userId}/${verb}`, {
        cookie: admin.cookie,
        body: { reason: 'A stolen card' },
      })
    const blocked = await block('block')
    expect([blocked.status, blocked.body.blocked_at]).toEqual([200, expect.any(String)])
    const { rows } = await pool.query('select user_id from sessions where user_id = any($1)', [
      [person.userId, other.userId],
    ])
    expect(rows).toEqual([{ user_id: other.userId }])
    expect((await block('unblock')).body.blocked_at).toBeNull()
    const by = { actor_kind: 'administrator', actor_id: admin.administratorId, reason: 'A stolen card' }
    expect(await auditOf(person.userId)).toEqual([
      { action: 'user.block', ...by },
      { action: 'user.unblock', ...by },
    ])
  })

  test('is signed out everywhere, and may come back', async () => {
    const [admin, person] = [await administrator(), await signedIn(pool)]
    const ended = await administration.call('POST', `/admin/users/${person.userId}/end-sessions`, {
      cookie: admin.cookie,
      body: { reason: 'A lost laptop' },
    })
    expect([ended.status, ended.body.blocked_at]).toEqual([200, null])
    const { rows } = await pool.query('select from sessions where user_id = $1', [person.userId])
    expect(rows).toEqual([])
    expect(await auditOf(person.userId)).toMatchObject([
      { action: 'user.end_sessions', actor_id: admin.administratorId, reason: 'A lost laptop' },
    ])
  })

  test('is shown with the number of active keys that he created, also by a token, and is blocked with them if that is asked for', async () => {
    const [admin, person] = [await administrator(), await signedIn(pool)]
    const other = await signedIn(pool, { organizationId: person.organizationId })
    const make = async (path: string, caller: CallOptions, body: object) => {
      const headers = { 'idempotency-key': randomUUID(), ...caller.headers }
      const made = await cabinet.call('POST', path, { ...caller, headers, body })
      expect(made.status, JSON.stringify(made.body)).toBeLessThan(300)
      return made.body
    }
    const makeKey = async (cookie: string): Promise<string> =>
      (await make('/keys', { cookie }, { name: 'laptop' })).key.id
    const makeKeyByToken = async ({ cookie }: { readonly cookie: string }): Promise<string> => {
      const token = { name: 'ci', scopes: ['keys'], expires_in_days: 1 }
      const { secret } = await make('/tokens', { cookie }, token)
      const headers = { authorization: `Bearer ${secret}` }
      return (await make('/keys', { headers }, { name: 'by a token' })).key.id
    }
    const keys = [await makeKey(person.cookie), await makeKeyByToken(person)]
    const [gone, late, theirs, ofTheirToken] = [
      await makeKey(person.cookie),
      await makeKey(person.cookie),
      await makeKey(other.cookie),
      await makeKeyByToken(other),
    ]
    await pool.query('update api_keys set revoked_at = now() where id = $1', [gone])
    await pool.query("update api_keys set expires_at = now() - interval '1 s' where id = $1", [late])
    const { email } = (await pool.query('select email from users where id = $1', [person.userId])).rows[0]
    const shown = await administration.call('GET', `/admin/users?email=${email}`, { cookie: admin.cookie })
    expect(shown.body.data).toMatchObject([{ id: person.userId, active_key_count: 2 }])
    const blockedKeys = async () => {
      const { rows } = await pool.query(
        'select id from api_keys where admin_blocked_at is not null and id = any($1)',
        [[...keys, gone, late, theirs, ofTheirToken]],
      )
      return rows.map(({ id }) => id).toSorted()
    }
    const block = (body: object) =>
      administration.call('POST', `/admin/users/${person.userId}/block`, {
        cookie: admin.cookie,
        body: { reason: 'A stolen card', ...body },
      })
    expect((await block({})).body).toMatchObject({ active_key_count: 2 })
    expect(await blockedKeys()).toEqual([])
    expect((await block({ block_keys: true })).body).toMatchObject({ active_key_count: 0 })
    expect(await blockedKeys()).toEqual(keys.toSorted())
    const by = { actor_kind: 'administrator', actor_id: admin.administratorId, reason: 'A stolen card' }
    for (const key of keys)
      expect(await auditOf(key)).toEqual(expect.arrayContaining([{ action: 'key.block', ...by }]))
  })

  test.each([randomUUID(), 'no-id', '0'.repeat(256)])('that nobody is (%s) is not found', async (id) => {
    const { cookie } = await administrator()
    const answer = await administration.call('POST', `/admin/users/${id}/block`, {
      cookie,
      body: { reason: 'gone' },
    })
    expect(answer.status).toBe(404)
  })

  test('is found by a part of his address', async () => {
    const [admin, person] = [await administrator(), await signedIn(pool)]
    const part = person.userId.slice(0, 13).toUpperCase()
    const { body } = await administration.call('GET', `/admin/users?email=${part}`, { cookie: admin.cookie })
    expect(body.data).toEqual([
      expect.objectContaining({
        id: person.userId,
        organizations: [expect.objectContaining({ id: person.organizationId, role: 'owner' })],
      }),
    ])
  })
})

test('what Postgres cannot read is refused before it is asked', async () => {
  const { cookie } = await administrator()
  const cursorAt = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url')
  const asked = await Promise.all(
    [
      'users?email=%00',
      'organizations?name=%00',
      'audit?actor_id=%00',
      'audit?action=%00',
      'audit?from=0000-01-01T00:00:00Z',
      `audit?cursor=${cursorAt('9'.repeat(19))}`,
      `users?cursor=${cursorAt(['0000-01-01T00:00:00.000000Z', randomUUID()])}`,
    ].map(async (path) => [path, (await administration.call('GET', `/admin/${path}`, { cookie })).status]),
  )
  expect(asked).toEqual(asked.map(([path]) => [path, 422]))
  const body = { reason: 'no\u0000thing' }
  const { status } = await administration.call('POST', `/admin/users/${randomUUID()}/block`, { cookie, body })
  expect(status).toBe(422)
})

test('pages of people hold each of them once', async () => {
  const admin = await administrator()
  for (let made = 0; made < 5; made++) await signedIn(pool)
  const { rows } = await pool.query<{ id: string }>('select id from users')
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { body } = await administration.call('GET', `/admin/users?limit=2${after}`, {
      cookie: admin.cookie,
    })
    seen.push(...body.data.map(({ id }: { readonly id: string }) => id))
    cursor = body.next_cursor
  }
  expect(seen.toSorted()).toEqual(rows.map(({ id }) => id).toSorted())
})

test('a key of any organization is blocked in the name of the administrator, and only that block is lifted', async () => {
  const admin = await administrator()
  const { keyId } = await createCustomer(pool)
  await pool.query('update api_keys set owner_blocked_at = now() where id = $1', [keyId])
  const change = (verb: string) =>
    administration.call('POST', `/admin/keys/${keyId}/${verb}`, {
      cookie: admin.cookie,
      body: { reason: 'abuse' },
    })
  expect((await change('block')).body).toMatchObject({ id: keyId, blocked_by: ['owner', 'admin'] })
  expect((await change('unblock')).body).toMatchObject({ id: keyId, blocked_by: ['owner'] })
})

test('a block of an organization is audited once, and only its own block is lifted', async () => {
  const admin = await administrator()
  const { keyId, organizationId } = await createCustomer(pool)
  await pool.query('update api_keys set owner_blocked_at = now() where id = $1', [keyId])
  const change = async (verb: string) => {
    const { status, body } = await administration.call(
      'POST',
      `/admin/organizations/${organizationId}/${verb}`,
      {
        cookie: admin.cookie,
        body: { reason: 'A stolen card' },
      },
    )
    // No worker runs here: the data plane cannot have it yet.
    return [status, body.id, body.programmed, typeof body.blocked_at]
  }
  const blockersOf = async () => {
    const [key] = await inReadScope(pool, null, (client) => readKeyStates(client, [keyId]))
    return key?.blockedBy
  }
  for (const _ of [1, 2]) expect(await change('block')).toEqual([202, organizationId, false, 'string'])
  expect(await blockersOf()).toEqual(['owner', 'admin'])
  for (const _ of [1, 2]) expect(await change('unblock')).toEqual([202, organizationId, false, 'object'])
  expect(await blockersOf()).toEqual(['owner'])
  const by = { actor_kind: 'administrator', actor_id: admin.administratorId, reason: 'A stolen card' }
  const audited = await auditOf(organizationId)
  expect(audited.filter(({ action }) => /block$/.test(action))).toEqual([
    { action: 'organization.block', ...by },
    { action: 'organization.unblock', ...by },
  ])
})

test('a key made while its organization is being blocked is blocked, whichever comes first', async () => {
  const customers = await Promise.all(Array.from({ length: 10 }, () => createCustomer(pool)))
  await Promise.all(
    customers.map(async ({ organizationId }, index) => {
      const draft = { organizationId, name: 'late', managedBy: 'cabinet' } as const
      const makeKeys = async () => {
        for (let made = 0; made < 5; made++)
          await inTestScope(pool, (client) => createKey(client, draft, pepper))
      }
      const block = () =>
        inTestScope(pool, (client) => setOrganizationBlocked(client, organizationId, 'blocked'))
      await Promise.all(index % 2 === 0 ? [makeKeys(), block()] : [block(), makeKeys()])
      const { rows } = await pool.query(
        'select count(*)::int as keys, count(organization_blocked_at)::int as blocked from api_keys where organization_id = $1',
        [organizationId],
      )
      expect(rows).toEqual([{ keys: 6, blocked: 6 }])
    }),
  )
})

describe('an adjustment', () => {
  const adjust = (
    admin: { readonly cookie: string },
    organizationId: string,
    { key = randomUUID(), ...body }: { readonly key?: string; readonly [field: string]: unknown } = {},
  ) =>
    administration.call('POST', `/admin/organizations/${organizationId}/adjustments`, {
      cookie: admin.cookie,
      headers: { ...english, 'idempotency-key': key },
      body: { amount_rub: '12.5', reason: 'goodwill', ...body },
    })

  test('is posted once for one idempotency key, however often and at once it is sent', async () => {
    const admin = await administrator()
    const { organizationId } = await createCustomer(pool, { balanceNano: 1_000_000_000n })
    const key = randomUUID()
    const answers = await Promise.all(Array.from({ length: 5 }, () => adjust(admin, organizationId, { key })))
    const [first] = answers
    expect(first?.body).toMatchObject({
      organization_id: organizationId,
      amount_rub: '12.5',
      balance_rub: '13.5',
    })
    for (const { status, body } of answers) expect([status, body]).toEqual([201, first?.body])
    expect(await readBalance(pool, organizationId)).toBe(13_500_000_000n)
    expect(await auditOf(organizationId)).toContainEqual({
      action: 'organization.credit',
      actor_kind: 'administrator',
      actor_id: admin.administratorId,
      reason: 'goodwill',
    })
  })

  test('can take money away, and more than there is', async () => {
    const admin = await administrator()
    const { organizationId } = await createCustomer(pool, { balanceNano: 1_000_000_000n })
    const { body } = await adjust(admin, organizationId, { amount_rub: '-3.000000001' })
    expect(body.balance_rub).toBe('-2.000000001')
  })

  test('with a key that stood for another one is refused', async () => {
    const admin = await administrator()
    const { organizationId } = await createCustomer(pool)
    const key = randomUUID()
    await adjust(admin, organizationId, { key })
    const { status, body } = await adjust(admin, organizationId, { key, amount_rub: '12.6' })
    expect([status, body.code]).toEqual([422, 'idempotency_mismatch'])
  })

  test('asks for a code again once the last is older than 5 minutes', async () => {
    const admin = await administrator(new Date(Date.now() - 6 * 60_000))
    const { organizationId } = await createCustomer(pool)
    expect((await adjust(admin, organizationId)).body.code).toBe('mfa_step_up_required')
    expect((await administration.call('GET', '/admin/audit', { cookie: admin.cookie })).status).toBe(200)
  })

  test.each([
    ['0', 'amount_rub'],
    ['1e3', 'amount_rub'],
    ['0.0000000001', 'amount_rub'],
    ['1000000.000000001', 'amount_rub'],
    [5, 'amount_rub'],
  ])('of %j is refused', async (amount_rub, path) => {
    const admin = await administrator()
    const { organizationId } = await createCustomer(pool)
    const { status, body } = await adjust(admin, organizationId, { amount_rub })
    expect([status, body.errors?.[0]?.path]).toEqual([422, path])
  })

  test('without a reason, or for an unknown user, posts nothing', async () => {
    const admin = await administrator()
    const { organizationId } = await createCustomer(pool)
    expect((await adjust(admin, organizationId, { reason: ' ' })).status).toBe(422)
    expect((await adjust(admin, randomUUID())).status).toBe(404)
    expect(await readBalance(pool, organizationId)).toBe(0n)
  })
})

test('the audit log is read newest first, by organization, and by page', async () => {
  const admin = await administrator()
  const { organizationId, keyId } = await createCustomer(pool, { balanceNano: 5n })
  const read = (more = '') =>
    administration.call('GET', `/admin/audit?organization_id=${organizationId}${more}`, {
      cookie: admin.cookie,
    })
  const { body } = await read()
  const actions = body.data.map(({ action }: { readonly action: string }) => action)
  expect(actions).toEqual(['key.add_secret', 'key.create', 'organization.credit', 'organization.create'])
  const page = await read('&limit=1&action=key.create')
  expect(page.body.data).toEqual([expect.objectContaining({ subject_id: keyId })])
  const rest = await read(`&cursor=${(await read('&limit=3')).body.next_cursor}`)
  expect(rest.body.data).toEqual([expect.objectContaining({ action: 'organization.create' })])
})

const yearZero = Buffer.from(JSON.stringify(['0000-01-01T00:00:00.000000Z', randomUUID()])).toString(
  'base64url',
)
const beyondAll = Buffer.from(JSON.stringify('9999999999999999999')).toString('base64url')

test.each([
  ['/users?email=%00'],
  [`/users?cursor=${yearZero}`],
  ['/organizations?name=a%00'],
  [`/organizations?cursor=${yearZero}`],
  ['/audit?from=0000-01-01T00:00:00Z'],
  ['/audit?to=0000-01-01T00:00:00Z'],
  ['/audit?actor_id=%00'],
  ['/audit?action=%00'],
  [`/audit?cursor=${beyondAll}`],
])('what the database cannot read is refused: %s', async (path) => {
  const { cookie } = await administrator()
  const { status, body } = await administration.call('GET', `/admin${path}`, { cookie })
  expect([status, body.code]).toEqual([422, 'validation_failed'])
})

test('a reason that the database cannot store is refused', async () => {
  const { cookie } = await administrator()
  const path = `/admin/users/${randomUUID()}/block`
  const { status } = await administration.call('POST', path, { cookie, body: { reason: 'because\0' } })
  expect(status).toBe(422)
})

test('actions of administrators break no invariant; an adjustment or a bonus without a record does', async () => {
  const breaches = async () =>
    Object.fromEntries((await checkInvariants(pool)).map(({ name, breachCount }) => [name, breachCount]))
  expect(await breaches()).toMatchObject({ adjustment_has_its_author: 0, bonus_is_in_the_ledger: 0 })
  const { organizationId } = await createCustomer(pool)
  await pool.query("select post_credit($1, 'adjustment', gen_random_uuid(), 1, now())", [organizationId])
  await pool.query("select post_credit($1, 'trial', gen_random_uuid(), 1, now())", [organizationId])
  await pool.query(
    "insert into bonuses (id, organization_id, kind, amount) values (gen_random_uuid(), $1, 'welcome', 1)",
    [organizationId],
  )
  expect(await breaches()).toMatchObject({ adjustment_has_its_author: 1, bonus_is_in_the_ledger: 2 })
})
