import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { mailboxOf } from '#cabinet/mail/mailbox'
import { databaseOfThisFile } from '../support/postgres.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile, webOfThisFile } from '../support/web.ts'
import { appUrl } from '../support/web-settings.ts'

const [database, redis] = await Promise.all([databaseOfThisFile(), redisOfThisFile()])
const { pool } = database
const web = await webOfThisFile(database, { REDIS_URL: redis.url })
const administration = await administrationOfThisFile(database, { REDIS_URL: redis.url })
beforeAll(() => vi.waitFor(async () => expect((await fetch(`${web.adminUrl}/readyz`)).status).toBe(200)))

const reason = 'The customer asks for it'

/** An organization with an owner, and an administrator who looks at its emails. */
async function supported(isConfirmed = true) {
  const { userId, organizationId, cookie: ofOwner } = await signedIn(pool, { isConfirmed })
  const { administratorId, cookie } = await signedInAdministrator(pool)
  const email = `${userId}@example.com`
  const base = `/admin/organizations/${organizationId}/emails`
  return {
    userId,
    organizationId,
    email,
    ofOwner,
    administratorId,
    list: async () => (await administration.call('GET', base, { cookie })).body.data,
    resend: (id: string) => administration.call('POST', `${base}/${id}/resend`, { cookie, body: { reason } }),
  }
}

/** An email that was sent two hours ago. */
async function sent(kind: string, recipient: string, dedupeKey: string | null = null): Promise<string> {
  const { rows } = await pool.query(
    `insert into email_outbox (kind, recipient, mailbox, locale, vars, dedupe_key, created_at, due_at, sent_at)
     values ($1, $2, $3, 'en', '{}', $4, now() - interval '2 hours', now() - interval '2 hours', now()) returning id`,
    [kind, recipient, mailboxOf(recipient), dedupeKey],
  )
  return rows[0].id
}

async function waitingFor(recipient: string) {
  const { rows } = await pool.query(
    'select kind, vars, dedupe_key from email_outbox where recipient = $1 and sent_at is null',
    [recipient],
  )
  return rows
}

const tokenOf = (link: string) => link.split('#token=')[1] ?? ''

describe('an email that is sent again', () => {
  test('has a new link that works, which the administrator never sees', async () => {
    const { email, resend, list, userId } = await supported()
    const id = await sent('reset_password', email)
    expect(await list()).toMatchObject([{ id, kind: 'reset_password', recipient: email }])
    const answer = await resend(id)
    expect([answer.status, answer.body]).toEqual([204, ''])
    const [letter] = await waitingFor(email)
    expect(letter).toMatchObject({ kind: 'reset_password', vars: { link: expect.any(String) } })
    expect(letter.vars.link).toMatch(new RegExp(`^${appUrl}/reset#token=[\\w-]{43}$`))
    expect(JSON.stringify(await list())).not.toContain(tokenOf(letter.vars.link))
    const body = { token: tokenOf(letter.vars.link), password: `correct horse ${randomUUID()}` }
    expect((await web.call('POST', '/auth/password/reset', { body })).status).toBe(204)
    const { rows } = await pool.query(
      "select password_hash from users where id = $1 and password_hash <> '!'",
      [userId],
    )
    expect(rows).toHaveLength(1)
  })

  test('confirms an address with the password of its registration', async () => {
    const { email, resend, userId } = await supported(false)
    await pool.query(
      `insert into email_tokens (token_hash, kind, user_id, password_hash, expires_at)
       values (sha256($1::bytea), 'verify_email', $2, 'the chosen one', now())`,
      [userId, userId],
    )
    expect((await resend(await sent('verify_email', email))).status).toBe(204)
    const [letter] = await waitingFor(email)
    const body = { token: tokenOf(letter.vars.link) }
    expect((await web.call('POST', '/auth/verify-email', { body })).status).toBe(204)
    const { rows } = await pool.query('select password_hash, email_confirmed_at from users where id = $1', [
      userId,
    ])
    expect(rows).toMatchObject([{ password_hash: 'the chosen one', email_confirmed_at: expect.any(Date) }])
  })

  test('confirms no password after two registrations with different ones', async () => {
    const { email, resend, userId } = await supported(false)
    for (const password of ['one', 'another'])
      await pool.query(
        `insert into email_tokens (token_hash, kind, user_id, password_hash, expires_at)
         values (sha256($1::bytea), 'verify_email', $2, $3, now())`,
        [`${userId}${password}`, userId, password],
      )
    await resend(await sent('verify_email', email))
    const [letter] = await waitingFor(email)
    await web.call('POST', '/auth/verify-email', { body: { token: tokenOf(letter.vars.link) } })
    const { rows } = await pool.query('select password_hash from users where id = $1', [userId])
    expect(rows).toEqual([{ password_hash: '!' }])
  })

  test('is the invitation that can still be accepted, and none that was revoked', async () => {
    const { organizationId, userId, resend, list } = await supported()
    const [invitationId, invited] = [randomUUID(), `invited-${randomUUID()}@example.com`]
    await pool.query(
      `insert into invitations (id, organization_id, email, role, invited_by, expires_at)
       values ($1, $2, $3, 'developer', $4, now() + interval '7 days')`,
      [invitationId, organizationId, invited, userId],
    )
    const id = await sent('invitation', invited, `invitation:${invitationId}`)
    expect((await list()).map((each: { id: string }) => each.id)).toEqual([id])
    expect((await resend(id)).status).toBe(204)
    expect(await waitingFor(invited)).toMatchObject([
      { vars: { link: `${appUrl}/app/invitations/${invitationId}`, role: 'developer' } },
    ])
    await pool.query('update invitations set revoked_at = now() where id = $1', [invitationId])
    await pool.query("update email_outbox set created_at = now() - interval '1 hour' where recipient = $1", [
      invited,
    ])
    expect((await resend(id)).body.code).toBe('email_outdated')
  })

  test('reports a payment with the balance of now, to an owner only', async () => {
    const { organizationId, userId, email, resend } = await supported()
    const paymentId = randomUUID()
    await pool.query(
      `insert into payments (id, organization_id, user_id, amount, status, cancellation_reason, next_call_at)
       values ($1, $2, $3, 100000000000, 'canceled', 'card_expired', null)`,
      [paymentId, organizationId, userId],
    )
    const id = await sent('payment_canceled', email, `payment_canceled:${paymentId}:${userId}`)
    expect((await resend(id)).status).toBe(204)
    expect(await waitingFor(email)).toMatchObject([{ vars: { amount: '100', reason: 'card_expired' } }])
    await pool.query("update email_outbox set created_at = now() - interval '1 hour' where recipient = $1", [
      email,
    ])
    await pool.query("update memberships set role = 'developer' where user_id = $1", [userId])
    expect((await resend(id)).body.code).toBe('email_outdated')
  })

  test('is audited with the reason, and shown in the timeline', async () => {
    const { email, resend, administratorId, organizationId } = await supported()
    const id = await sent('reset_password', email)
    await resend(id)
    const { rows } = await pool.query(
      'select actor_id, organization_id, after, reason from audit_log where action = $1 and subject_id = $2',
      ['email.resend', id],
    )
    expect(rows).toEqual([
      {
        actor_id: administratorId,
        organization_id: organizationId,
        after: { kind: 'reset_password' },
        reason,
      },
    ])
  })
})

describe('no email is sent again', () => {
  test('while it waits, and twice within a minute', async () => {
    const { email, resend } = await supported()
    const id = await sent('reset_password', email)
    const answers = await Promise.all([resend(id), resend(id)])
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 429])
    const { rows } = await pool.query(
      'select id from email_outbox where recipient = $1 and sent_at is null',
      [email],
    )
    expect((await resend(rows[0].id)).body.code).toBe('email_still_waiting')
  })

  test('to a mailbox that got four in an hour', async () => {
    const { email, resend } = await supported()
    const id = await sent('reset_password', email)
    await pool.query(
      `insert into email_outbox (kind, recipient, mailbox, locale, vars, created_at)
       select 'low_balance', $1, $2, 'en', '{}', now() - interval '5 minutes' from generate_series(1, 4)`,
      [email, mailboxOf(email)],
    )
    expect((await resend(id)).body.code).toBe('too_many_emails')
  })

  test('whose occasion has ended, or that reported an event', async () => {
    const { email, userId, resend } = await supported()
    expect((await resend(await sent('verify_email', email))).body.code).toBe('email_outdated')
    expect((await resend(await sent('password_changed', email))).body.code).toBe('email_not_repeatable')
    await pool.query('update users set blocked_at = now() where id = $1', [userId])
    expect((await resend(await sent('reset_password', email))).body.code).toBe('email_outdated')
    expect(await waitingFor(email)).toEqual([])
  })

  test('of another organization', async () => {
    const [one, other] = [await supported(), await supported()]
    const id = await sent('reset_password', other.email)
    expect((await one.resend(id)).status).toBe(404)
    expect((await one.resend('none')).status).toBe(404)
    expect(await waitingFor(other.email)).toEqual([])
  })
})
