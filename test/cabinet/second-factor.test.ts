import { generateSync } from 'otplib'
import { describe, expect, test } from 'vitest'
import {
  aPassword,
  type Cabinet,
  cabinetOfThisFile,
  lettersTo,
  type SignedUp,
  signUp,
  type Visitor,
} from '../support/cabinet.ts'

const cabinet = await cabinetOfThisFile()
const { pool } = cabinet

const stepS = 30

/** The code of so many steps from now. */
function codeOf(secret: string, steps = 0): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * stepS })
}

/** As if the last code had been entered long ago: a test does not wait for the next step. */
async function forgetLastStep(userId: string): Promise<void> {
  await pool.query('update users set totp_last_step = 0 where id = $1', [userId])
}

type WithFactor = SignedUp & { readonly secret: string; readonly recoveryCodes: readonly string[] }

/** A user with a second factor, whose last code may be entered again. */
async function signUpWithFactor(of: Cabinet = cabinet): Promise<WithFactor> {
  const person = await signUp(of)
  const { body } = await person.visitor.post('/me/totp/enrol', { password: aPassword })
  const confirmed = await person.visitor.post('/me/totp/confirm', { code: codeOf(body.secret) })
  expect(confirmed.status).toBe(200)
  await forgetLastStep(person.userId)
  return { ...person, secret: body.secret, recoveryCodes: confirmed.body.recovery_codes }
}

async function halfSignIn(email: string): Promise<Visitor> {
  const visitor = cabinet.visitor()
  const { status, body } = await visitor.post('/auth/login', { email, password: aPassword })
  expect([status, body]).toEqual([200, { mfa: 'totp' }])
  return visitor
}

describe('enrolment', () => {
  test('ends every session that began without a code, and gives this one another cookie', async () => {
    const { visitor, email } = await signUp(cabinet)
    const other = cabinet.visitor()
    expect((await other.post('/auth/login', { email, password: aPassword })).status).toBe(200)
    const { body: enrolment } = await visitor.post('/me/totp/enrol', { password: aPassword })
    const before = visitor.cookie
    const { status } = await visitor.post('/me/totp/confirm', { code: codeOf(enrolment.secret) })
    expect([status, (await visitor.get('/me')).body.has_totp]).toEqual([200, true])
    expect((await other.get('/me')).status).toBe(401)
    other.cookie = before
    expect((await other.get('/me')).status).toBe(401)
  })

  test('needs the password and a first code, and answers ten recovery codes once; the session counts as proven', async () => {
    const { visitor, email, userId } = await signUp(cabinet)
    expect((await visitor.post('/me/totp/enrol', { password: 'wrong' })).body.code).toBe(
      'invalid_credentials',
    )
    expect((await visitor.post('/me/totp/confirm', { code: '123456' })).body.code).toBe('conflict')
    const { body: enrolment } = await visitor.post('/me/totp/enrol', { password: aPassword })
    expect(enrolment.otpauth_uri).toBe(
      `otpauth://totp/Model%20Gateway:${encodeURIComponent(email)}?secret=${enrolment.secret}&issuer=Model%20Gateway`,
    )
    expect((await visitor.get('/me')).body.has_totp, 'not before its first code').toBe(false)
    expect((await visitor.post('/me/totp/confirm', { code: codeOf(enrolment.secret, 5) })).body.code).toBe(
      'invalid_code',
    )
    const { status, body } = await visitor.post('/me/totp/confirm', { code: codeOf(enrolment.secret) })
    expect(status).toBe(200)
    expect(new Set(body.recovery_codes).size).toBe(10)
    for (const code of body.recovery_codes) expect(code).toMatch(/^([0-9a-z]{4}-){3}[0-9a-z]{4}$/)
    expect((await visitor.get('/me')).body).toMatchObject({ has_totp: true, recovery_codes_left: 10 })
    const { body: sessions } = await visitor.get('/me/sessions')
    expect(sessions.data[0].mfa_at).not.toBeNull()
    expect((await lettersTo(pool, email)).at(-1)?.kind).toBe('totp_enabled')
    const { rows } = await pool.query<{ row: string }>(
      `select u::text || coalesce((select string_agg(encode(code_hash, 'escape'), '') from recovery_codes where user_id = u.id), '') as row
         from users u where id = $1`,
      [userId],
    )
    expect(rows[0]?.row).not.toContain(enrolment.secret)
    for (const code of body.recovery_codes) expect(rows[0]?.row).not.toContain(code)
    expect((await visitor.post('/me/totp/enrol', { password: aPassword })).body.code).toBe('conflict')
  })
})

describe('a sign-in with a second factor', () => {
  test('is half one until a code completes it, in a session of another id', async () => {
    const { email, secret } = await signUpWithFactor()
    const visitor = await halfSignIn(email)
    const half = visitor.cookie
    expect((await visitor.get('/me')).body.code).toBe('unauthenticated')
    expect((await visitor.post('/auth/login/totp', { code: codeOf(secret) })).status).toBe(204)
    expect((await visitor.get('/me')).body.email).toBe(email)
    expect(visitor.cookie).not.toBe(half)
    const stale = cabinet.visitor()
    stale.cookie = half
    expect((await stale.post('/auth/login/totp', { code: codeOf(secret, 1) })).status).toBe(401)
    expect((await stale.get('/me')).status).toBe(401)
  })

  test('takes the code before and after now, none two steps away, and none twice', async () => {
    const { email, secret, userId } = await signUpWithFactor()
    for (const [steps, status] of [
      [-2, 401],
      [2, 401],
      [-1, 204],
      [1, 204],
    ] as const) {
      // Not at the very end of a step, when two steps away become three or one.
      if ((Date.now() / 1000) % stepS > stepS - 2) await new Promise((resolve) => setTimeout(resolve, 2_500))
      await forgetLastStep(userId)
      const visitor = await halfSignIn(email)
      expect([
        steps,
        (await visitor.post('/auth/login/totp', { code: codeOf(secret, steps) })).status,
      ]).toEqual([steps, status])
    }
    const replay = await halfSignIn(email)
    expect((await replay.post('/auth/login/totp', { code: codeOf(secret, 1) })).body.code).toBe(
      'invalid_code',
    )
    expect((await replay.post('/auth/login/totp', { code: codeOf(secret) })).body.code, 'an older one').toBe(
      'invalid_code',
    )
  })

  test('by one code from many sides at once is one', async () => {
    const { email, secret } = await signUpWithFactor()
    const visitors = []
    for (let n = 0; n < 4; n++) visitors.push(await halfSignIn(email))
    const code = codeOf(secret)
    const answers = await Promise.all(visitors.map((visitor) => visitor.post('/auth/login/totp', { code })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 401, 401, 401])
  })

  test('may be completed by a recovery code, each once, however it is typed', async () => {
    const { email, recoveryCodes } = await signUpWithFactor()
    const [code = '', second = ''] = recoveryCodes
    const enter = async (recovery_code: string) =>
      (await (await halfSignIn(email)).post('/auth/login/totp', { recovery_code })).status
    expect(await enter(code.toUpperCase().replaceAll('-', ' '))).toBe(204)
    expect([await enter(code), await enter(second)]).toEqual([401, 204])
    const other = await signUpWithFactor()
    expect(await enter(other.recoveryCodes[0] ?? '')).toBe(401)
  })

  test('asks for one of the two, in its form', async () => {
    const { email, secret } = await signUpWithFactor()
    const visitor = await halfSignIn(email)
    for (const body of [
      {},
      { code: '12345' },
      { code: 123456 },
      { code: codeOf(secret), recovery_code: 'x' },
      { code: '１２３４５６' },
    ])
      expect((await visitor.post('/auth/login/totp', body)).body.code).toBe('validation_failed')
    expect(
      (await visitor.post('/auth/login/totp', { code: codeOf(secret).replace(/^.../, '$& ') })).status,
    ).toBe(204)
  })

  test('waits after five wrong codes, also for the right one', async () => {
    const { email, secret } = await signUpWithFactor()
    const visitor = await halfSignIn(email)
    for (let n = 0; n < 5; n++)
      expect((await visitor.post('/auth/login/totp', { recovery_code: 'wrong' })).status).toBe(401)
    const answer = await visitor.post('/auth/login/totp', { code: codeOf(secret) })
    expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(800)
    const other = await signUpWithFactor()
    expect(
      (await (await halfSignIn(other.email)).post('/auth/login/totp', { code: codeOf(other.secret) })).status,
    ).toBe(204)
  })
})

describe('a second factor that is on', () => {
  test('is asked for again, and that is noted in the session', async () => {
    const { visitor, secret, userId } = await signUpWithFactor()
    await pool.query(`update sessions set mfa_at = now() - interval '1 hour' where user_id = $1`, [userId])
    expect((await visitor.post('/me/totp/step-up', { code: codeOf(secret, 4) })).body.code).toBe(
      'invalid_code',
    )
    expect((await visitor.post('/me/totp/step-up', { code: codeOf(secret) })).status).toBe(204)
    const { rows } = await pool.query<{ isFresh: boolean }>(
      `select mfa_at > now() - interval '1 minute' as "isFresh" from sessions where user_id = $1`,
      [userId],
    )
    expect(rows).toEqual([{ isFresh: true }])
  })

  test('gives new recovery codes for a code, and the old ones end', async () => {
    const { visitor, email, secret, recoveryCodes } = await signUpWithFactor()
    const { body } = await visitor.post('/me/recovery-codes', { code: codeOf(secret) })
    expect(body.recovery_codes).toHaveLength(10)
    const enter = async (recovery_code: string | undefined) =>
      (await (await halfSignIn(email)).post('/auth/login/totp', { recovery_code })).status
    expect([await enter(recoveryCodes[0]), await enter(body.recovery_codes[0])]).toEqual([401, 204])
  })

  test('is removed with password and code, and an email reports it', async () => {
    const { visitor, email, secret } = await signUpWithFactor()
    const remove = (body: object) => visitor.call('DELETE', '/me/totp', body)
    expect((await remove({ password: 'wrong', code: codeOf(secret) })).body.code).toBe('invalid_credentials')
    expect((await remove({ password: aPassword, code: codeOf(secret, 4) })).body.code).toBe('invalid_code')
    expect((await remove({ password: aPassword })).body.code).toBe('validation_failed')
    expect((await remove({ password: aPassword, code: codeOf(secret) })).status).toBe(204)
    expect((await visitor.get('/me')).body).toMatchObject({ has_totp: false, recovery_codes_left: 0 })
    expect((await lettersTo(pool, email)).at(-1)?.kind).toBe('totp_disabled')
    expect((await cabinet.visitor().post('/auth/login', { email, password: aPassword })).body).toEqual({
      mfa: null,
    })
  })

  test('does not open for another account, though its row were copied there', async () => {
    const [one, other] = [await signUpWithFactor(), await signUpWithFactor()]
    await pool.query(
      'update users set totp_sealed = (select totp_sealed from users where id = $1) where id = $2',
      [one.userId, other.userId],
    )
    const visitor = await halfSignIn(other.email)
    expect((await visitor.post('/auth/login/totp', { code: codeOf(one.secret) })).status).toBe(500)
  })
})

test('an account without a second factor has no code to enter again', async () => {
  const { visitor } = await signUp(cabinet)
  for (const [method, path, body] of [
    ['POST', '/me/totp/step-up', { code: '123456' }],
    ['POST', '/me/recovery-codes', { code: '123456' }],
    ['DELETE', '/me/totp', { password: aPassword, code: '123456' }],
  ] as const)
    expect((await visitor.call(method, path, body)).body.code).toBe('mfa_required')
})

test('no secret and no code of a second factor is in the audit log or in a log line', async () => {
  const { visitor, secret, recoveryCodes } = await signUpWithFactor()
  await visitor.post('/me/totp/step-up', { code: codeOf(secret) })
  const { rows } = await pool.query<{ row: string }>('select a::text as row from audit_log a')
  const said = [...rows.map(({ row }) => row), ...cabinet.lines].join('\n')
  expect(said).toContain('user.enable_totp')
  for (const text of [secret, ...recoveryCodes]) expect(said).not.toContain(text)
})
