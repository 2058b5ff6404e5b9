import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { MemberRole } from '#cabinet/api/access'
import { postBatch } from '#core/ledger/post-batch'
import { cabinetOfThisFile, lettersTo, newEmail, type SignedUp, signUp } from '../support/cabinet.ts'
import { entryOf } from '../support/customer.ts'

const cabinet = await cabinetOfThisFile()
const { pool } = cabinet

const join = () => signUp(cabinet)

/** Calls for an organization that the call names. */
const callFor = (organizationId: string, { visitor }: SignedUp) => {
  return (method: string, path: string, body?: unknown) =>
    visitor.call(method, path, body, { 'organization-id': organizationId })
}

async function invite(owner: SignedUp, email: string, role: MemberRole = 'developer') {
  return callFor(owner.organizationId, owner)('POST', '/invitations', { email, role })
}

const accept = ({ visitor }: SignedUp, id: string) => visitor.post(`/me/invitations/${id}/accept`)

/** A user who has accepted an invitation to the owner's organization. */
async function memberOf(owner: SignedUp, role: MemberRole = 'developer'): Promise<SignedUp> {
  const member = await join()
  const { body } = await invite(owner, member.email, role)
  expect((await accept(member, body.id)).body).toEqual({ organization_id: owner.organizationId, role })
  return member
}

async function auditOf(organizationId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ action: string }>(
    'select action from audit_log where organization_id = $1 order by id',
    [organizationId],
  )
  return rows.map(({ action }) => action)
}

/** As if an invitation had been sent so many days earlier. */
async function age(invitationId: string, days: number): Promise<void> {
  await pool.query(
    `update invitations set created_at = created_at - make_interval(days => $2),
       expires_at = expires_at - make_interval(days => $2) where id = $1`,
    [invitationId, days],
  )
}

const rejected = { status: 409, body: { code: 'invitation_not_valid' } }

describe('an invitation', () => {
  test('is emailed in the language of the sender, without a secret, and makes its recipient a member', async () => {
    const owner = await join()
    const guest = await join()
    const { status, body } = await invite(owner, guest.email.toUpperCase(), 'accountant')
    expect([status, body.role, body.invited_by]).toEqual([201, 'accountant', owner.email])
    const lastsMs = Date.parse(body.expires_at) - Date.parse(body.created_at)
    expect(Math.round(lastsMs / 86_400_000)).toBe(7)
    const letter = (await lettersTo(pool, guest.email)).at(-1)
    expect(letter).toMatchObject({
      kind: 'invitation',
      locale: 'en',
      vars: {
        role: 'accountant',
        sender: owner.email,
        link: expect.stringContaining(`/app/invitations/${body.id}`),
      },
    })
    const received = (await guest.visitor.get('/me/invitations')).body.data
    expect(received).toMatchObject([{ id: body.id, role: 'accountant', invited_by: owner.email }])

    expect((await accept(guest, body.id)).status).toBe(200)
    const { data } = (await callFor(owner.organizationId, guest)('GET', '/members')).body
    expect(data).toMatchObject([
      { email: owner.email, role: 'owner', is_you: false },
      { email: guest.email, role: 'accountant', is_you: true },
    ])
    expect((await guest.visitor.get('/me/invitations')).body.data).toEqual([])
    expect((await callFor(owner.organizationId, owner)('GET', '/invitations')).body.data).toEqual([])
    expect(await auditOf(owner.organizationId)).toEqual(
      expect.arrayContaining(['organization.invite', 'organization.add_member']),
    )
  })

  test('to an address without an account is accepted after a registration with that address', async () => {
    const owner = await join()
    const email = newEmail()
    const { body } = await invite(owner, email)
    const guest = await signUp(cabinet, email)
    expect((await accept(guest, body.id)).status).toBe(200)
  })

  test('is accepted once, even by several calls at the same time', async () => {
    const owner = await join()
    const guest = await join()
    const { body } = await invite(owner, guest.email)
    const answers = await Promise.all(Array.from({ length: 5 }, () => accept(guest, body.id)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409])
    expect(await accept(guest, body.id)).toMatchObject(rejected)
    expect(await auditOf(owner.organizationId)).toContain('organization.reject_invitation')
  })

  test('is not found by another address, even with its link, and not accepted before the address is confirmed', async () => {
    const owner = await join()
    const guest = await join()
    const stranger = await join()
    const { body } = await invite(owner, guest.email)
    expect((await stranger.visitor.get('/me/invitations')).body.data).toEqual([])
    expect(await accept(stranger, body.id)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await stranger.visitor.call('DELETE', `/me/invitations/${body.id}`)).status).toBe(404)
    const { rows } = await pool.query(
      `select after ->> 'why' as why from audit_log where actor_id = $1 and action = 'organization.reject_invitation'`,
      [stranger.userId],
    )
    expect(rows[0]).toEqual({ why: 'other_address' })

    await pool.query('update users set email_confirmed_at = null where id = $1', [guest.userId])
    expect((await guest.visitor.get('/me/invitations')).body.data).toEqual([])
    expect(await accept(guest, body.id)).toMatchObject({ status: 403, body: { code: 'email_not_verified' } })
    await pool.query('update users set email_confirmed_at = now() where id = $1', [guest.userId])
    expect((await accept(guest, body.id)).status).toBe(200)
  })

  test('is not valid after 7 days, after it was revoked or declined, and may then be sent again', async () => {
    const owner = await join()
    const guest = await join()
    const old = (await invite(owner, guest.email)).body
    await age(old.id, 8)
    expect(await accept(guest, old.id)).toMatchObject(rejected)

    const second = (await invite(owner, guest.email)).body
    const again = await invite(owner, guest.email.toUpperCase())
    expect([again.status, again.body.errors]).toEqual([
      422,
      [{ path: 'email', code: 'already_invited', message: expect.any(String) }],
    ])
    const revoke = () => callFor(owner.organizationId, owner)('DELETE', `/invitations/${second.id}`)
    expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 404])
    expect(await accept(guest, second.id)).toMatchObject(rejected)

    const third = (await invite(owner, guest.email)).body
    expect((await guest.visitor.call('DELETE', `/me/invitations/${third.id}`)).status).toBe(204)
    expect(await accept(guest, third.id)).toMatchObject(rejected)

    const fourth = (await invite(owner, guest.email)).body
    expect((await accept(guest, fourth.id)).status).toBe(200)
    expect((await invite(owner, guest.email)).body.errors).toMatchObject([{ code: 'already_member' }])
  })

  test.each(['removed', 'demoted'] as const)('is not valid after its sender was %s', async (how) => {
    const owner = await join()
    const sender = await memberOf(owner, 'owner')
    const guest = await join()
    const { body } = await callFor(owner.organizationId, sender)('POST', '/invitations', {
      email: guest.email,
      role: 'owner',
    })
    const call = callFor(owner.organizationId, owner)
    if (how === 'removed') expect((await call('DELETE', `/members/${sender.userId}`)).status).toBe(204)
    else expect((await call('PATCH', `/members/${sender.userId}`, { role: 'developer' })).status).toBe(200)
    expect((await call('GET', '/invitations')).body.data).toEqual([])
    expect(await accept(guest, body.id)).toMatchObject(rejected)
    expect(await auditOf(owner.organizationId)).toContain('organization.revoke_invitations')
  })

  test('is not valid without an owner as its sender, even if it was not revoked', async () => {
    const owner = await join()
    const guest = await join()
    const { body } = await invite(owner, guest.email)
    await pool.query(`update memberships set role = 'developer' where user_id = $1`, [owner.userId])
    expect(await accept(guest, body.id)).toMatchObject(rejected)
  })

  test('is one of at most 20, and 50 a day', async () => {
    const owner = await join()
    const statuses = async (count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => invite(owner, newEmail())))
      return answers.map(({ status }) => status).toSorted()
    }
    const made = await statuses(22)
    expect(made).toEqual([...Array(20).fill(201), 409, 409])
    const open = (await callFor(owner.organizationId, owner)('GET', '/invitations')).body.data
    for (const { id } of open)
      expect((await callFor(owner.organizationId, owner)('DELETE', `/invitations/${id}`)).status).toBe(204)
    await pool.query(
      `insert into invitations (id, organization_id, email, role, invited_by, expires_at, revoked_at)
       select gen_random_uuid(), $1, 'a' || n || '@example.com', 'developer', $2, now(), now()
         from generate_series(1, 30) n`,
      [owner.organizationId, owner.userId],
    )
    expect(await invite(owner, newEmail())).toMatchObject({
      status: 409,
      body: { code: 'too_many_invitations' },
    })
  })

  test('has a role that exists and an address, or a message at the field', async () => {
    const owner = await join()
    const call = callFor(owner.organizationId, owner)
    for (const [body, path] of [
      [{ email: 'not an address', role: 'developer' }, 'email'],
      [{ email: newEmail(), role: 'administrator' }, 'role'],
      [{ email: 'x'.repeat(10_000), role: 'developer' }, 'email'],
    ] as const)
      expect(await call('POST', '/invitations', body)).toMatchObject({
        status: 422,
        body: { errors: expect.arrayContaining([expect.objectContaining({ path })]) },
      })
    expect((await call('GET', '/invitations')).body.data).toEqual([])
  })
})

describe('a role', () => {
  test('applies to the next call', async () => {
    const owner = await join()
    const member = await memberOf(owner, 'developer')
    const of = callFor(owner.organizationId, member)
    const seen = async () => [(await of('GET', '/keys')).status, (await of('GET', '/balance')).status]
    expect(await seen()).toEqual([200, 403])
    const call = callFor(owner.organizationId, owner)
    const changed = await call('PATCH', `/members/${member.userId}`, { role: 'accountant' })
    expect(changed).toMatchObject({ status: 200, body: { user_id: member.userId, role: 'accountant' } })
    expect(await seen()).toEqual([403, 200])
    expect((await of('PATCH', `/members/${member.userId}`, { role: 'owner' })).status).toBe(403)
  })

  test('without permission for money shows no amount of the balance with a key', async () => {
    const owner = await join()
    const member = await memberOf(owner, 'developer')
    const call = callFor(owner.organizationId, owner)
    const { key } = (
      await owner.visitor.call(
        'POST',
        '/keys',
        { name: 'k' },
        { 'organization-id': owner.organizationId, 'idempotency-key': randomUUID() },
      )
    ).body
    const balanceOf = async (of: typeof call) =>
      (await of('GET', `/keys/${key.id}/effective-limits`)).body.limits.find(
        ({ scope }: { scope: string }) => scope === 'balance',
      )
    expect((await balanceOf(call)).limit).toBe('30')
    expect(await balanceOf(callFor(owner.organizationId, member))).toMatchObject({
      limit: null,
      remaining: null,
      would_refuse: false,
    })
  })
})

describe('the last owner', () => {
  const lastOwner = { status: 409, body: { code: 'last_owner' } }

  test('cannot leave, be removed or get another role, and each attempt is audited', async () => {
    const owner = await join()
    await memberOf(owner, 'accountant')
    const call = callFor(owner.organizationId, owner)
    expect(await call('DELETE', '/membership')).toMatchObject(lastOwner)
    expect(await call('DELETE', `/members/${owner.userId}`)).toMatchObject(lastOwner)
    expect(await call('PATCH', `/members/${owner.userId}`, { role: 'developer' })).toMatchObject(lastOwner)
    const kept = (await auditOf(owner.organizationId)).filter((action) => action.endsWith('keep_last_owner'))
    expect(kept).toHaveLength(3)
    expect((await call('GET', '/members')).body.data).toHaveLength(2)
  })

  test('remains when all owners leave, demote or remove each other at the same time', async () => {
    for (const round of [0, 1, 2]) {
      const first = await join()
      const owners = [first, await memberOf(first, 'owner'), await memberOf(first, 'owner')]
      const ways = [
        (of: SignedUp) => callFor(first.organizationId, of)('DELETE', '/membership'),
        (of: SignedUp, other: SignedUp) =>
          callFor(first.organizationId, of)('DELETE', `/members/${other.userId}`),
        (of: SignedUp, other: SignedUp) =>
          callFor(first.organizationId, of)('PATCH', `/members/${other.userId}`, { role: 'developer' }),
      ]
      const way = ways[round]
      if (way === undefined) throw new Error('no such way')
      const answers = await Promise.all(
        owners.map((owner, index) => way(owner, owners[(index + 1) % owners.length] ?? first)),
      )
      for (const { status } of answers) expect([200, 204, 403, 404, 409]).toContain(status)
      const { rows } = await pool.query(
        `select count(*)::int as owners from memberships where organization_id = $1 and role = 'owner'`,
        [first.organizationId],
      )
      expect(rows[0].owners).toBeGreaterThanOrEqual(1)
    }
  })
})

describe('a limit of keys', () => {
  test('rejects the key above it, counts only the keys of the member, and an owner changes it', async () => {
    const owner = await join()
    const member = await memberOf(owner)
    const make = async (of: SignedUp) => {
      const { status, body } = await of.visitor.call(
        'POST',
        '/keys',
        { name: 'k' },
        { 'organization-id': owner.organizationId, 'idempotency-key': randomUUID() },
      )
      return status < 300 ? body.key.id : body.code
    }
    const limit = (keys_max: number | null) =>
      callFor(owner.organizationId, owner)('PATCH', `/members/${member.userId}`, { keys_max })
    expect(await limit(1)).toMatchObject({
      status: 200,
      body: { role: 'developer', keys_max: 1, key_count: 0 },
    })
    const answers = await Promise.all([make(member), make(member)])
    expect(answers.toSorted().at(-1)).toBe('too_many_own_keys')
    expect(await make(owner)).toMatch(/^[\da-f-]{36}$/)
    expect((await limit(2)).body).toMatchObject({ keys_max: 2, key_count: 1 })
    const second = await make(member)
    expect(second).toMatch(/^[\da-f-]{36}$/)
    expect(await make(member)).toBe('too_many_own_keys')
    await callFor(owner.organizationId, member)('DELETE', `/keys/${second}`)
    expect(await make(member)).toMatch(/^[\da-f-]{36}$/)
    expect((await limit(null)).body.keys_max).toBe(null)
    expect(await make(member)).toMatch(/^[\da-f-]{36}$/)
    for (const wrong of [-1, 201, 1.5]) expect((await limit(wrong)).status).toBe(422)
    expect(await auditOf(owner.organizationId)).toContain('organization.limit_member')
  }, 60_000)
})

describe('a monthly budget', () => {
  test('is set by owners only, shown to all members, and copied to the keys of the member', async () => {
    const owner = await join()
    const member = await memberOf(owner)
    const by = (who: SignedUp, monthly_budget_rub: unknown) =>
      callFor(owner.organizationId, who)('PATCH', `/members/${member.userId}`, { monthly_budget_rub })
    expect(await by(member, '5')).toMatchObject({ status: 403 })
    expect(await by(owner, '1500.5')).toMatchObject({
      status: 200,
      body: { monthly_budget_rub: '1500.5', spent_this_month_rub: '0', keys_max: null },
    })
    const { body } = await member.visitor.call(
      'POST',
      '/keys',
      { name: 'k' },
      { 'organization-id': owner.organizationId, 'idempotency-key': randomUUID() },
    )
    const { rows } = await pool.query(
      'select member_monthly_budget_nano as nano from api_keys where id = $1',
      [body.key.id],
    )
    expect(rows).toEqual([{ nano: 1_500_500_000_000n }])
    await postBatch(pool, [entryOf({ organizationId: owner.organizationId, keyId: body.key.id }, 7n)])
    const { data } = (await callFor(owner.organizationId, member)('GET', '/members')).body
    expect(data).toMatchObject([
      { monthly_budget_rub: null, spent_this_month_rub: null },
      { monthly_budget_rub: '1500.5', spent_this_month_rub: '0.000000007' },
    ])
    for (const wrong of ['0', '-1', '1000000000000', '0.0000000001', 5, ''])
      expect(await by(owner, wrong)).toMatchObject({
        status: 422,
        body: { errors: [{ path: 'monthly_budget_rub' }] },
      })
    expect((await by(owner, null)).body).toMatchObject({ monthly_budget_rub: null })
    expect(await auditOf(owner.organizationId)).toContain('organization.limit_member')
  }, 60_000)
})

describe('a former member', () => {
  test('gets 403 at the next call for the organization, with the session still open', async () => {
    const owner = await join()
    const member = await memberOf(owner, 'owner')
    const of = callFor(owner.organizationId, member)
    expect((await of('GET', '/keys')).status).toBe(200)
    expect((await callFor(owner.organizationId, owner)('DELETE', `/members/${member.userId}`)).status).toBe(
      204,
    )
    for (const path of ['/keys', '/members', '/balance', '/organization', '/events'])
      expect(await of('GET', path)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    const me = (await of('GET', '/me')).body
    expect([me.organization, me.organizations.map(({ id }: { id: string }) => id)]).toEqual([
      null,
      [member.organizationId],
    ])
  })

  test('is one who left, too', async () => {
    const owner = await join()
    const member = await memberOf(owner)
    const of = callFor(owner.organizationId, member)
    expect((await of('DELETE', '/membership')).status).toBe(204)
    expect((await of('DELETE', '/membership')).status).toBe(403)
    expect(await auditOf(owner.organizationId)).toContain('organization.remove_member')
  })
})

describe('a member of two organizations', () => {
  test('names one in each call, and is rejected without a name', async () => {
    const owner = await join()
    const member = await memberOf(owner)
    expect(await member.visitor.get('/keys')).toMatchObject({
      status: 400,
      body: { code: 'organization_required' },
    })
    const idBy = async (path: string, headers = {}) =>
      (await member.visitor.call('GET', path, undefined, headers)).body.id
    const [here, there] = [owner.organizationId, member.organizationId]
    expect(await idBy('/organization', { 'organization-id': here })).toBe(here)
    expect(await idBy(`/organization?organization_id=${there}`)).toBe(there)
    expect(await idBy(`/organization?organization_id=${there}`, { 'organization-id': here })).toBe(here)
    for (const unknown of [randomUUID(), 'none', ''])
      expect((await callFor(unknown, member)('GET', '/organization')).status).toBe(403)
    for (const unknown of [randomUUID(), '%00', '', `${here}&organization_id=${there}`])
      expect((await member.visitor.get(`/organization?organization_id=${unknown}`)).status).toBe(403)
  })

  test('starts in the organization that was joined or chosen last', async () => {
    const owner = await join()
    const member = await memberOf(owner)
    const first = async () => (await member.visitor.get('/me')).body.organization.id
    expect(await first()).toBe(owner.organizationId)
    const chosen = await member.visitor.call('PATCH', '/me', { organization_id: member.organizationId })
    expect([chosen.status, await first()]).toEqual([200, member.organizationId])
    expect((await member.visitor.call('PATCH', '/me', { organization_id: randomUUID() })).status).toBe(404)
  })

  test('cannot repeat a call with its idempotency key for the other organization', async () => {
    const owner = await join()
    const member = await memberOf(owner)
    const key = randomUUID()
    const make = (organizationId: string) =>
      member.visitor.call(
        'POST',
        '/keys',
        { name: 'k' },
        { 'organization-id': organizationId, 'idempotency-key': key },
      )
    expect((await make(owner.organizationId)).status).toBeLessThan(300)
    expect(await make(member.organizationId)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    })
  })
})
