import { randomUUID } from 'node:crypto'
import { generateSync } from 'otplib'
import { describe, expect, test } from 'vitest'
import { totpResetJob } from '#worker/totp-reset-job'
import { aPassword, cabinetOfThisFile, signUp } from '../support/cabinet.ts'
import { poolAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'
import { appUrl } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile()
const { pool, database } = cabinet
const administration = await administrationOfThisFile(database)
const work = () => runJob(totpResetJob(poolAs('model_gateway_worker', database)))

const reason = 'Lost phone, passport checked'
const body = { reason }

/** A user with a second factor and ten recovery codes, and two administrators. */
async function withLostFactor() {
  const { visitor, email, userId } = await signUp(cabinet)
  const { body: enrolment } = await visitor.post('/me/totp/enrol', { password: aPassword })
  const code = (steps: number) =>
    generateSync({ secret: enrolment.secret, epoch: Math.floor(Date.now() / 1000) + steps * 30 })
  expect((await visitor.post('/me/totp/confirm', { code: code(0) })).status).toBe(200)
  const [one, other] = await Promise.all([signedInAdministrator(pool), signedInAdministrator(pool)])
  const request = () =>
    administration.call('POST', `/admin/users/${userId}/totp-resets`, { cookie: one.cookie, body })
  const decide = (id: string, verb: 'approve' | 'decline', cookie = other.cookie) =>
    administration.call('POST', `/admin/totp-resets/${id}/${verb}`, { cookie, body })
  const requestAndApprove = async (): Promise<string> => {
    const { body: requested } = await request()
    expect((await decide(requested.id, 'approve')).body.state).toBe('scheduled')
    return requested.id
  }
  return { visitor, email, userId, code, one, other, request, decide, requestAndApprove }
}

/** As if a day had passed. A trigger refuses this to every role that obeys triggers. */
async function letDayPass(id: string): Promise<void> {
  await pool.query(
    `begin; set local session_replication_role = replica;
     update totp_resets set due_at = now() - interval '1 second' where id = '${id}'; commit`,
  )
}

async function factorOf(userId: string) {
  const { rows } = await pool.query(
    `select totp_enrolled_at is not null as "hasTotp",
            (select count(*)::int from recovery_codes where user_id = $1) as codes,
            (select count(*)::int from sessions where user_id = $1) as sessions
       from users where id = $1`,
    [userId],
  )
  return rows[0]
}

async function stateOf(id: string): Promise<string> {
  const { rows } = await pool.query('select state from totp_resets where id = $1', [id])
  return rows[0].state
}

async function plannedLetter(email: string) {
  const { rows } = await pool.query(
    "select vars from email_outbox where recipient = $1 and kind = 'totp_reset_planned'",
    [email],
  )
  return rows[0]?.vars
}

async function actionsOn(userId: string) {
  const { rows } = await pool.query(
    `select action, actor_kind, actor_id, reason from audit_log
      where subject_id = $1 and action like '%totp_reset' or subject_id = $1 and action = 'user.reset_totp' order by id`,
    [userId],
  )
  return rows
}

describe('a lost second factor', () => {
  test('is removed a day after a second administrator agreed, with recovery codes and sessions', async () => {
    const { visitor, email, userId, one, other, request, decide } = await withLostFactor()
    const { status, body: requested } = await request()
    expect([status, requested.state, requested.user_email]).toEqual([201, 'pending', email])
    expect(await plannedLetter(email)).toBeUndefined()
    const { body: approved } = await decide(requested.id, 'approve')
    expect(approved).toMatchObject({ state: 'scheduled', decided_by: other.administratorId })
    const dueInS = (Date.parse(approved.due_at) - Date.now()) / 1_000
    expect(dueInS).toBeGreaterThan(86_300)
    expect(dueInS).toBeLessThanOrEqual(86_400)
    const letter = await plannedLetter(email)
    expect(Math.abs(Date.parse(letter.at) - Date.parse(approved.due_at))).toBeLessThan(1_001)
    await work()
    expect(await factorOf(userId)).toEqual({ hasTotp: true, codes: 10, sessions: 1 })
    await letDayPass(requested.id)
    await Promise.all([work(), work()])
    expect(await factorOf(userId)).toEqual({ hasTotp: false, codes: 0, sessions: 0 })
    expect((await visitor.get('/me')).status).toBe(401)
    expect((await visitor.post('/auth/login', { email, password: aPassword })).body).toEqual({ mfa: null })
    const { rows } = await pool.query(
      "select kind from email_outbox where recipient = $1 and kind = 'totp_disabled'",
      [email],
    )
    expect(rows).toHaveLength(1)
    expect(await actionsOn(userId)).toEqual([
      {
        action: 'user.request_totp_reset',
        actor_kind: 'administrator',
        actor_id: one.administratorId,
        reason,
      },
      {
        action: 'user.approve_totp_reset',
        actor_kind: 'administrator',
        actor_id: other.administratorId,
        reason,
      },
      { action: 'user.reset_totp', actor_kind: 'job', actor_id: 'totp-resets', reason },
    ])
  })

  test('stays if the user cancels by the link of the email, which works once', async () => {
    const { email, userId, requestAndApprove } = await withLostFactor()
    const id = await requestAndApprove()
    const { link } = await plannedLetter(email)
    expect(link).toMatch(new RegExp(`^${appUrl}/totp-reset#token=[\\w-]{43}$`))
    const cancel = () =>
      cabinet.visitor().post('/auth/totp-reset/cancel', { token: link.split('#token=')[1] })
    expect((await cancel()).status).toBe(204)
    expect((await cancel()).body.code).toBe('invalid_token')
    await pool.query("update email_outbox set sent_at = now(), vars = '{}' where recipient = $1", [email])
    await work()
    expect([await stateOf(id), (await factorOf(userId)).hasTotp]).toEqual(['canceled', true])
    expect((await actionsOn(userId)).at(-1)).toMatchObject({ action: 'user.cancel_totp_reset' })
  })

  test('stays if the user signs in with a code, but not if only with the password', async () => {
    const { email, code, requestAndApprove } = await withLostFactor()
    const id = await requestAndApprove()
    const visitor = cabinet.visitor()
    await visitor.post('/auth/login', { email, password: aPassword })
    expect(await stateOf(id)).toBe('scheduled')
    expect((await visitor.post('/auth/login/totp', { code: code(1) })).status).toBe(204)
    expect(await stateOf(id)).toBe('canceled')
  })

  test('stays if an administrator declines, also after the approval', async () => {
    const { userId, one, decide, request, requestAndApprove } = await withLostFactor()
    const id = await requestAndApprove()
    expect((await decide(id, 'decline', one.cookie)).body.state).toBe('declined')
    expect((await decide(id, 'decline')).body.code).toBe('already_decided')
    const { body: again } = await request()
    expect((await decide(again.id, 'decline')).body.state).toBe('declined')
    await work()
    expect((await factorOf(userId)).hasTotp).toBe(true)
  })

  test('is not approved by its requester, or by an administrator with the mailbox of the user', async () => {
    const { email, one, decide, request } = await withLostFactor()
    const { body: requested } = await request()
    const self = await signedInAdministrator(pool, { email: email.replace('@', '+admin@') })
    for (const { cookie } of [one, self])
      expect((await decide(requested.id, 'approve', cookie)).body.code).toBe('another_administrator_required')
    expect(await stateOf(requested.id)).toBe('pending')
    await pool.query("update totp_resets set expires_at = now() - interval '1 second' where id = $1", [
      requested.id,
    ])
    expect((await decide(requested.id, 'approve')).body.code).toBe('already_decided')
    expect((await request()).status).toBe(201)
  })

  test('is requested once at a time, and only for a user who has one', async () => {
    const { request } = await withLostFactor()
    const answers = await Promise.all([request(), request(), request()])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    const { userId } = await signedIn(pool)
    const { cookie } = await signedInAdministrator(pool)
    for (const [id, status] of [
      [userId, 409],
      [randomUUID(), 404],
      ['none', 404],
    ] as const)
      expect(
        (await administration.call('POST', `/admin/users/${id}/totp-resets`, { cookie, body })).status,
      ).toBe(status)
  })

  test('of which the role of administration can shorten no delay and forge no end', async () => {
    const { userId, requestAndApprove } = await withLostFactor()
    const id = await requestAndApprove()
    const administrators = poolAs('model_gateway_administration', database)
    await expect(
      administrators.query("update totp_resets set decided_at = now() - interval '2 days' where id = $1", [
        id,
      ]),
    ).rejects.toThrow('approved once')
    await administrators.query("update totp_resets set state = 'done' where id = $1", [id])
    await work()
    expect((await factorOf(userId)).hasTotp).toBe(true)
  })
})

test('with the two-person rule off, the only administrator’s request waits for its day at once', async () => {
  const { userId, email, one } = await withLostFactor()
  await pool.query('update administrators set blocked_at = now() where id <> $1', [one.administratorId])
  await pool.query('update two_person_rule set is_on = false')
  const { body: requested } = await administration.call('POST', `/admin/users/${userId}/totp-resets`, {
    cookie: one.cookie,
    body,
  })
  expect(requested).toMatchObject({ state: 'scheduled', decided_by: null })
  expect(await plannedLetter(email)).toMatchObject({ link: expect.any(String) })
})
