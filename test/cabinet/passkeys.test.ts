import { randomUUID } from 'node:crypto'
import { generateSync } from 'otplib'
import { describe, expect, test } from 'vitest'
import { aPassword, cabinetOfThisFile, lettersTo, signUp, tokenTo, type Visitor } from '../support/cabinet.ts'
import { passkeyDevice } from '../support/passkey-device.ts'
import { appUrl } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile()
const { pool } = cabinet
const here = { origin: new URL(appUrl).origin, site: new URL(appUrl).hostname }

type Device = ReturnType<typeof passkeyDevice>

async function begin(visitor: Visitor, body: object = { password: aPassword }) {
  return visitor.post('/me/passkeys/challenge', body)
}

/** Adds the device's passkey to the signed-in user. */
async function add(visitor: Visitor, device: Device, name = 'Phone') {
  const { body } = await begin(visitor)
  const credential = device.create({ ...here, challenge: body.challenge, user: body.user.id })
  return visitor.post('/me/passkeys', { name, credential })
}

async function signUpWithPasskey(device = passkeyDevice()) {
  const person = await signUp(cabinet)
  const { status, body } = await add(person.visitor, device)
  expect([status, body.name]).toEqual([201, 'Phone'])
  return { ...person, device, passkeyId: body.id as string }
}

async function challenge(visitor: Visitor): Promise<string> {
  const { status, body } = await visitor.post('/auth/passkey/challenge')
  expect([status, body]).toEqual([
    200,
    { challenge: body.challenge, timeout: 300_000, rpId: here.site, userVerification: 'required' },
  ])
  return body.challenge
}

const signIn = (visitor: Visitor, credential: object) => visitor.post('/auth/login/passkey', { credential })

async function signInBy(device: Device) {
  const visitor = cabinet.visitor()
  const credential = device.sign({ ...here, challenge: await challenge(visitor) })
  return { visitor, credential, answer: await signIn(visitor, credential) }
}

const actionsOf = async (userId: string) => {
  const { rows } = await pool.query<{ action: string; after: { by?: string; why?: string } | null }>(
    `select action, after from audit_log where subject_id = $1 order by id`,
    [userId],
  )
  return rows.map(({ action, after }) => [action, after?.by ?? after?.why].filter(Boolean).join(' '))
}

describe('a passkey', () => {
  test('signs its user in without a password; adding, use and removal are audited, and emailed', async () => {
    const { device, visitor, userId, email, passkeyId } = await signUpWithPasskey()
    const signedIn = await signInBy(device)
    expect([signedIn.answer.status, signedIn.answer.body]).toEqual([200, { email }])
    expect((await signedIn.visitor.get('/me')).body).toMatchObject({ id: userId, email })
    const { body } = await visitor.get('/me/passkeys')
    expect(body.data).toEqual([
      { id: passkeyId, name: 'Phone', created_at: expect.any(String), last_used_at: expect.any(String) },
    ])
    const remove = (password: string) => visitor.call('DELETE', `/me/passkeys/${passkeyId}`, { password })
    expect((await remove('not it')).body.code).toBe('invalid_credentials')
    expect((await remove(aPassword)).status).toBe(204)
    expect((await remove(aPassword)).status).toBe(404)
    expect((await signInBy(device)).answer.body.code).toBe('invalid_passkey')
    expect(await actionsOf(userId)).toEqual(
      expect.arrayContaining(['user.add_passkey', 'user.sign_in passkey', 'user.remove_passkey']),
    )
    const letters = await lettersTo(pool, email)
    expect(letters.map(({ kind }) => kind).slice(-2)).toEqual(['passkey_added', 'passkey_removed'])
  })

  test('replaces the code of a user with a second factor, who must enter one to add it', async () => {
    const { visitor, userId } = await signUp(cabinet)
    const { body: enrolment } = await visitor.post('/me/totp/enrol', { password: aPassword })
    const code = () => generateSync({ secret: enrolment.secret })
    expect((await visitor.post('/me/totp/confirm', { code: code() })).status).toBe(200)
    // As if the last code had been entered long ago.
    await pool.query('update users set totp_last_step = 0 where id = $1', [userId])
    expect((await begin(visitor)).body.code).toBe('mfa_required')
    expect((await begin(visitor, { password: aPassword, code: '000000' })).body.code).toBe('invalid_code')
    const { body } = await begin(visitor, { password: aPassword, code: code() })
    const device = passkeyDevice()
    const credential = device.create({ ...here, challenge: body.challenge, user: body.user.id })
    expect((await visitor.post('/me/passkeys', { name: 'Laptop', credential })).status).toBe(201)
    const { visitor: other, answer } = await signInBy(device)
    expect([answer.status, (await other.get('/me')).body.has_totp]).toEqual([200, true])
  })

  test('of a blocked user does not sign in', async () => {
    const { device, userId } = await signUpWithPasskey()
    await pool.query('update users set blocked_at = now() where id = $1', [userId])
    expect((await signInBy(device)).answer.body.code).toBe('invalid_passkey')
    expect((await actionsOf(userId)).at(-1)).toBe('user.refuse_sign_in passkey')
  })

  test('goes with its account', async () => {
    const { userId } = await signUpWithPasskey()
    await pool.query(
      `update users set email = 'deleted-' || id || '@deleted.invalid', password_hash = '!', blocked_at = now(),
                        deleted_at = now()
        where id = $1`,
      [userId],
    )
    expect((await pool.query('select from passkeys where user_id = $1', [userId])).rows).toEqual([])
  })

  test('goes when the password is reset by email, for its owner may not have added it', async () => {
    const { device, email, userId } = await signUpWithPasskey()
    const visitor = cabinet.visitor()
    expect((await visitor.post('/auth/password/forgot', { email })).status).toBe(202)
    const token = await tokenTo(pool, email, 'reset_password')
    const body = { token, password: 'another password, a long one' }
    expect((await visitor.post('/auth/password/reset', body)).status).toBe(204)
    expect((await signInBy(device)).answer.body.code).toBe('invalid_passkey')
    expect(await actionsOf(userId)).toContain('user.remove_passkey')
  })

  test('is in the export of its account', async () => {
    const { visitor, passkeyId } = await signUpWithPasskey()
    const { body } = await visitor.get('/me/export')
    expect(body.passkeys).toEqual([
      { id: passkeyId, name: 'Phone', created_at: expect.any(String), last_used_at: null },
    ])
  })
})

describe('a signature is refused', () => {
  test('a second time, and of an earlier challenge than the last', async () => {
    const { device } = await signUpWithPasskey()
    const visitor = cabinet.visitor()
    const early = device.sign({ ...here, challenge: await challenge(visitor) })
    const { credential, answer } = await signInBy(device)
    expect(answer.status).toBe(200)
    for (const old of [credential, early])
      expect((await signIn(visitor, old)).body.code).toBe('invalid_passkey')
  })

  test('for another site, without a PIN or a finger, by another device, and for another user', async () => {
    const { device } = await signUpWithPasskey()
    const visitor = cabinet.visitor()
    const signed = async (wish: object) =>
      device.sign({ ...here, challenge: await challenge(visitor), ...wish })
    const good = await signed({})
    const forged = passkeyDevice().sign({ ...here, challenge: await challenge(visitor) })
    const refused = [
      await signed({ origin: 'https://evil.example' }),
      await signed({ site: 'evil.example' }),
      await signed({ isVerified: false }),
      await signed({ challenge: Buffer.from('made up').toString('base64url') }),
      { ...good, response: { ...forged.response, userHandle: good.response.userHandle } },
      {
        ...good,
        response: { ...good.response, userHandle: Buffer.from(randomUUID()).toString('base64url') },
      },
    ]
    for (const credential of refused)
      expect((await signIn(visitor, credential)).body.code).toBe('invalid_passkey')
    expect((await signIn(visitor, good)).status).toBe(200)
  })

  test('of a copied device, whose counter is behind', async () => {
    const device = passkeyDevice({ isCounting: true })
    const { userId } = await signUpWithPasskey(device)
    expect((await signInBy(device)).answer.status).toBe(200)
    await pool.query('update passkeys set counter = 1000 where user_id = $1', [userId])
    expect((await signInBy(device)).answer.body.code).toBe('invalid_passkey')
  })

  test('of the challenge for adding one', async () => {
    const { device, visitor } = await signUpWithPasskey()
    const { body } = await begin(visitor)
    const credential = device.sign({ ...here, challenge: body.challenge })
    expect((await signIn(cabinet.visitor(), credential)).body.code).toBe('invalid_passkey')
  })
})

describe('a passkey is not added', () => {
  test('without the password, or by a person who has not confirmed the address', async () => {
    const { visitor, userId } = await signUp(cabinet)
    expect((await begin(visitor, { password: 'not it' })).body.code).toBe('invalid_credentials')
    await pool.query('update users set email_confirmed_at = null where id = $1', [userId])
    expect((await begin(visitor)).body.code).toBe('email_not_verified')
  })

  test('with the challenge of another session, of another site, or a second time', async () => {
    const { visitor, device } = await signUpWithPasskey()
    const other = await signUp(cabinet)
    const { body: theirs } = await begin(other.visitor)
    const { body: mine } = await begin(visitor)
    const made = (challenge: string, wish: object = {}) => ({
      name: 'Phone',
      credential: passkeyDevice().create({ ...here, challenge, user: mine.user.id, ...wish }),
    })
    const again = device.create({ ...here, challenge: mine.challenge, user: mine.user.id })
    const refused = [
      made(theirs.challenge),
      made(mine.challenge, { origin: 'https://evil.example' }),
      made(mine.challenge, { site: 'evil.example' }),
      made(mine.challenge, { isVerified: false }),
      { name: 'Phone', credential: again },
    ]
    for (const body of refused)
      expect((await visitor.post('/me/passkeys', body)).body.code).toBe('invalid_passkey')
    expect(mine.excludeCredentials).toEqual([{ type: 'public-key', id: again.id }])
  })

  test('after the twentieth', async () => {
    const { visitor, userId } = await signUp(cabinet)
    await pool.query(
      `insert into passkeys (id, user_id, name, credential_id, public_key, counter, last_challenge_at)
       select gen_random_uuid(), $1, 'x', uuid_send(gen_random_uuid()), '', 0, now() from generate_series(1, 19)`,
      [userId],
    )
    const { body: late } = await begin(visitor)
    expect((await add(visitor, passkeyDevice())).status).toBe(201)
    expect((await begin(visitor)).body.code).toBe('too_many_passkeys')
    const credential = passkeyDevice().create({ ...here, challenge: late.challenge, user: late.user.id })
    expect((await visitor.post('/me/passkeys', { name: 'x', credential })).body.code).toBe(
      'too_many_passkeys',
    )
  })

  test('with a name that is empty, too long or has control characters', async () => {
    const { visitor } = await signUp(cabinet)
    const credential = passkeyDevice().create({ ...here, challenge: 'e30', user: 'e30' })
    for (const name of ['', '  ', 'x'.repeat(65), 'a\u0000b', 'a\u202eb'])
      expect((await visitor.post('/me/passkeys', { name, credential })).status).toBe(422)
  })

  test('and not removed by another user, who learns nothing of it', async () => {
    const { passkeyId } = await signUpWithPasskey()
    const { visitor } = await signUp(cabinet)
    for (const id of [passkeyId, randomUUID(), 'x'])
      expect((await visitor.call('DELETE', `/me/passkeys/${id}`, { password: aPassword })).status).toBe(404)
  })
})
