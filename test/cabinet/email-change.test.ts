import { generateSync } from 'otplib'
import { describe, expect, test } from 'vitest'
import {
  aPassword,
  cabinetOfThisFile,
  lettersTo,
  newEmail,
  registration,
  signUp,
} from '../support/cabinet.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'

const cabinet = await cabinetOfThisFile()
const { pool, database } = cabinet
const administration = await administrationOfThisFile(database)

/** The token of the last email of a kind to an address. */
async function tokenTo(email: string, kind: string): Promise<string> {
  const letter = (await lettersTo(pool, email)).findLast((one) => one.kind === kind)
  return /#token=([\w-]+)/.exec(letter?.vars.link ?? '')?.[1] ?? ''
}

const kindsTo = async (email: string) => (await lettersTo(pool, email)).map(({ kind }) => kind)

/** A user who has asked for another address, with the tokens of both emails. */
async function asking() {
  const person = await signUp(cabinet)
  const newAddress = newEmail()
  const { status } = await person.visitor.post('/me/email-change', { email: newAddress, password: aPassword })
  expect(status).toBe(202)
  const tokens = {
    old: await tokenTo(person.email, 'email_change_approval'),
    new: await tokenTo(newAddress, 'email_change'),
  }
  return { ...person, newAddress, tokens }
}

/** From a browser without a session, as a link is opened. */
const follow = (act: 'confirm' | 'cancel', token: string) =>
  cabinet.visitor().post(`/auth/email-change/${act}`, { token })

const signIn = async (email: string) =>
  (await cabinet.visitor().post('/auth/login', { email, password: aPassword })).status

/** As if a user had last asked a while ago. */
const passMinute = (userId: string) =>
  pool.query(`update email_changes set begun_at = begun_at - interval '1 minute' where user_id = $1`, [
    userId,
  ])

async function actionsOn(userId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ action: string; text: string }>(
    `select action, audit_log::text as text from audit_log
      where subject_id = $1 and action like 'user.%email%' and action <> 'user.confirm_email' order by id`,
    [userId],
  )
  for (const { text } of rows) expect(text).not.toContain('@')
  return rows.map(({ action }) => action)
}

describe('a change of address', () => {
  test.each(['old', 'new'] as const)(
    'needs both addresses; the %s one first changes nothing',
    async (first) => {
      const { visitor, email, userId, newAddress, tokens } = await asking()
      const last = first === 'old' ? 'new' : 'old'
      const half = await follow('confirm', tokens[first])
      expect([half.status, half.body]).toEqual([200, { status: 'other_address_missing' }])
      expect((await visitor.get('/me')).body.email).toBe(email)
      expect((await follow('confirm', tokens[first])).body, 'twice').toEqual({
        status: 'other_address_missing',
      })
      expect((await visitor.get('/me/email-change')).body.change).toMatchObject({
        email: newAddress,
        is_old_confirmed: first === 'old',
        is_new_confirmed: first === 'new',
      })
      const both = await follow('confirm', tokens[last])
      expect([both.status, both.body]).toEqual([200, { status: 'changed' }])
      expect([await signIn(email), await signIn(newAddress)]).toEqual([401, 200])
      expect((await lettersTo(pool, email)).at(-1)).toMatchObject({
        kind: 'email_changed',
        vars: { email: newAddress },
      })
      expect(await actionsOn(userId)).toEqual([
        'user.begin_email_change',
        'user.confirm_email_change',
        'user.confirm_email_change',
        'user.change_email',
      ])
    },
  )

  test('ends every session and every unused link of the user', async () => {
    const { visitor, email, newAddress, tokens } = await asking()
    await cabinet.visitor().post('/auth/password/forgot', { email })
    const reset = await tokenTo(email, 'reset_password')
    for (const token of Object.values(tokens)) await follow('confirm', token)
    expect((await visitor.get('/me')).status).toBe(401)
    const withOldLink = await cabinet
      .visitor()
      .post('/auth/password/reset', { token: reset, password: 'a passphrase of another person' })
    expect([withOldLink.status, withOldLink.body.code]).toEqual([422, 'invalid_token'])
    expect(await signIn(newAddress)).toBe(200)
  })

  test('ends when the password is reset, even after one address was confirmed', async () => {
    const { email, tokens } = await asking()
    await follow('confirm', tokens.old)
    await cabinet.visitor().post('/auth/password/forgot', { email })
    const token = await tokenTo(email, 'reset_password')
    const password = 'a passphrase of its owner'
    expect((await cabinet.visitor().post('/auth/password/reset', { token, password })).status).toBe(204)
    const late = await follow('confirm', tokens.new)
    expect([late.status, late.body.code]).toEqual([422, 'invalid_token'])
    expect((await cabinet.visitor().post('/auth/login', { email, password })).status).toBe(200)
  })

  test('needs the password, a confirmed address, and a code where there is a second factor', async () => {
    const { visitor, userId, email } = await signUp(cabinet)
    const ask = (more: object) =>
      visitor.post('/me/email-change', { email: newEmail(), password: aPassword, ...more })
    expect((await ask({ password: 'wrong' })).body.code).toBe('invalid_credentials')
    const { body } = await visitor.post('/me/totp/enrol', { password: aPassword })
    const code = () => generateSync({ secret: body.secret, epoch: Math.floor(Date.now() / 1_000) })
    await visitor.post('/me/totp/confirm', { code: code() })
    await pool.query('update users set totp_last_step = 0 where id = $1', [userId])
    expect((await ask({})).body.code).toBe('invalid_code')
    expect((await ask({ code: '000000' })).body.code).toBe('invalid_code')
    expect((await visitor.get('/me/email-change')).body).toEqual({ change: null })
    expect((await ask({ code: code(), email })).body.code).not.toBe('invalid_code')
    await pool.query('update users set totp_last_step = 0 where id = $1', [userId])
    expect((await ask({ code: code() })).status).toBe(202)
    const { rows } = await pool.query(
      "select after->>'why' as why from audit_log where subject_id = $1 and action = 'user.refuse_sign_in' order by id",
      [userId],
    )
    expect(rows, 'a correct code is no failed attempt').toEqual(
      ['password', 'code', 'code'].map((why) => ({ why })),
    )
  })

  test('to an address that has an account looks the same, sends no link there, and cannot be completed', async () => {
    const [taken, person] = [await signUp(cabinet), await signUp(cabinet)]
    const answer = await person.visitor.post('/me/email-change', {
      email: taken.email.toUpperCase(),
      password: aPassword,
    })
    expect([answer.status, answer.body]).toEqual([202, { status: 'confirmations_sent' }])
    expect(await kindsTo(taken.email)).toEqual(['verify_email', 'already_registered'])
    expect((await follow('confirm', await tokenTo(person.email, 'email_change_approval'))).body).toEqual({
      status: 'other_address_missing',
    })
    expect([await signIn(taken.email), await signIn(person.email)]).toEqual([200, 200])
  })

  test('to an address that registers in the meantime fails, and changes nothing', async () => {
    const { email, newAddress, tokens } = await asking()
    await follow('confirm', tokens.old)
    expect((await cabinet.visitor().post('/auth/register', registration({ email: newAddress }))).status).toBe(
      202,
    )
    const late = await follow('confirm', tokens.new)
    expect([late.status, late.body.code]).toEqual([422, 'invalid_token'])
    expect(await signIn(email)).toBe(200)
  })

  test('is canceled by the old address or by the user, and never by the new address', async () => {
    const first = await asking()
    expect((await follow('cancel', first.tokens.new)).status).toBe(422)
    expect((await follow('cancel', first.tokens.old)).status).toBe(204)
    for (const token of Object.values(first.tokens))
      expect((await follow('confirm', token)).body.code).toBe('invalid_token')
    expect(await actionsOn(first.userId)).toEqual(['user.begin_email_change', 'user.cancel_email_change'])

    const second = await asking()
    expect((await second.visitor.call('DELETE', '/me/email-change')).status).toBe(204)
    expect((await second.visitor.call('DELETE', '/me/email-change')).status).toBe(404)
    expect((await follow('confirm', second.tokens.old)).status).toBe(422)
  })

  test('may be begun once a minute, each replaces the one before it, and a day later none works', async () => {
    const { visitor, email, userId, tokens } = await asking()
    const ask = () => visitor.post('/me/email-change', { email: newEmail(), password: aPassword })
    const tooSoon = await ask()
    expect([tooSoon.status, tooSoon.headers.get('retry-after')]).toEqual([429, '60'])
    await passMinute(userId)
    expect((await ask()).status).toBe(202)
    expect((await follow('confirm', tokens.new)).status).toBe(422)
    await pool.query('update email_changes set expires_at = now() where user_id = $1', [userId])
    expect((await follow('confirm', await tokenTo(email, 'email_change_approval'))).status).toBe(422)
    expect((await visitor.get('/me/email-change')).body).toEqual({ change: null })
  })

  test('to the present or a disposable address is rejected', async () => {
    const { visitor, email } = await signUp(cabinet)
    const codeFor = async (address: string) =>
      (await visitor.post('/me/email-change', { email: address, password: aPassword })).body.errors?.[0].code
    expect(await codeFor(email.toUpperCase())).toBe('same_email')
    expect(await codeFor('someone@mailinator.com')).toBe('disposable_email')
  })

  test('fills no mailbox: after four emails in an hour another one is not written', async () => {
    const victim = newEmail()
    for (let times = 0; times < 6; times++) {
      const { visitor } = await signUp(cabinet)
      expect((await visitor.post('/me/email-change', { email: victim, password: aPassword })).status).toBe(
        202,
      )
    }
    expect(await kindsTo(victim)).toEqual(Array.from({ length: 4 }, () => 'email_change'))
  })

  test('of a blocked user cannot be completed, and a deleted account leaves no trace of it', async () => {
    const { userId, email, newAddress, tokens } = await asking()
    await pool.query(`update users set blocked_at = now() where id = $1`, [userId])
    expect((await follow('confirm', tokens.old)).status).toBe(422)
    const { rows } = await pool.query('select organization_id as id from memberships where user_id = $1', [
      userId,
    ])
    await pool.query('update org_account set balance = 0 where organization_id = $1', [rows[0].id])
    const { cookie } = await signedInAdministrator(pool)
    const body = { reason: 'The user asks for it in writing', email }
    const deleted = await administration.call('POST', `/admin/users/${userId}/delete`, { cookie, body })
    expect(deleted.status).toBe(204)
    expect([await kindsTo(newAddress), await kindsTo(email)]).toEqual([[], []])
    expect((await pool.query('select from email_changes where user_id = $1', [userId])).rowCount).toBe(0)
  })
})
