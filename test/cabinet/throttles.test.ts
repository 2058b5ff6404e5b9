import { randomUUID } from 'node:crypto'
import { generateSync } from 'otplib'
import { describe, expect, test } from 'vitest'
import { proofHeader } from '#cabinet/api/proof-of-work'
import { solve } from '#standalone/solve-proof'
import { aPassword, cabinetOfThisFile, newEmail, registration, signUp } from '../support/cabinet.ts'
import { postProven } from '../support/proof.ts'
import { startTestWeb } from '../support/web.ts'
import { webSettings } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile({ TRUSTED_PROXY_CIDRS: '127.0.0.0/8' })
const withoutRedis = await cabinetOfThisFile({ REDIS_URL: 'redis://127.0.0.1:1' })
const { pool } = cabinet
const newPassword = 'another battery, another staple'
const forgotten = () => ({ email: newEmail() })

/** A user for whose address so many emails were requested that a proof is required. */
async function askedForProof(of = cabinet) {
  const visitor = of.visitor()
  for (let n = 0; n < 10; n++)
    expect((await visitor.post('/auth/password/forgot', forgotten())).status).toBe(202)
  const { status, body } = await visitor.post('/auth/password/forgot', forgotten())
  expect([status, body.code]).toEqual([428, 'proof_of_work_required'])
  return { visitor, challenge: body.challenge }
}

describe('above a threshold', () => {
  test.each([
    ['', cabinet],
    [' while Redis is away', withoutRedis],
  ] as const)('a proof of work is asked for and good once%s', async (_, of) => {
    const { visitor, challenge } = await askedForProof(of)
    const headers = { [proofHeader]: await solve(challenge) }
    const statuses = []
    for (let n = 0; n < 2; n++)
      statuses.push((await visitor.call('POST', '/auth/password/forgot', forgotten(), headers)).status)
    expect(statuses).toEqual([202, 428])
  })

  test('no proof is good that is for another endpoint, altered, unsolved, or no proof at all', async () => {
    const { visitor, challenge } = await askedForProof()
    const { challenge: ofOther } = await askedForProof()
    const solved = JSON.parse(Buffer.from(await solve(challenge), 'base64').toString())
    const easier = structuredClone(solved)
    easier.challenge.parameters.keyPrefix = '00'
    const unsolved = { ...solved, solution: { counter: 1, derivedKey: '00'.repeat(32) } }
    const write = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
    for (const proof of [write(easier), write(unsolved), write(null), 'x', '='.repeat(5_000), ''])
      expect(
        (await visitor.call('POST', '/auth/password/forgot', forgotten(), { [proofHeader]: proof })).status,
      ).toBe(428)
    for (let n = 0; n < 11; n++) await visitor.post('/auth/resend-verification', forgotten())
    const elsewhere = await visitor.call('POST', '/auth/resend-verification', forgotten(), {
      [proofHeader]: await solve(ofOther),
    })
    expect(elsewhere.status).toBe(428)
  })

  test('an invalid call counts against no one', async () => {
    const visitor = cabinet.visitor()
    const tries = Array.from({ length: 60 }, () => visitor.post('/auth/login', { email: 'x', password: 'x' }))
    expect(new Set((await Promise.all(tries)).map(({ status }) => status))).toEqual(new Set([422]))
    expect((await visitor.post('/auth/login', { email: newEmail(), password: 'x' })).status).toBe(401)
    const more = Array.from({ length: 600 }, () => visitor.post('/auth/login', {}))
    expect((await Promise.all(more)).filter(({ status }) => status === 429)).toHaveLength(60)
    expect((await visitor.post('/auth/login', { email: newEmail(), password: 'x' })).status).toBe(401)
  })
})

/** Strangers, each from another address, who try passwords of an account and prove what they are asked for. */
async function guess(email: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const answer = await postProven(cabinet.visitor(), '/auth/login', { email, password: `guess ${n}` })
    expect(answer.status).toBe(401)
  }
}

describe('strangers who fail', () => {
  test('do not delay a device that has signed in before, or a change of the password', async () => {
    const { email, visitor } = await signUp(cabinet)
    await guess(email, 12)
    expect((await cabinet.visitor().post('/auth/login', { email, password: aPassword })).status).toBe(428)
    const changed = await visitor.post('/auth/password/change', {
      current_password: aPassword,
      new_password: newPassword,
    })
    expect(changed.status).toBe(204)
    expect((await visitor.post('/auth/login', { email, password: newPassword })).status).toBe(200)
  })

  test('have ever more to prove for one account, and its owner on a new device gets in with a proof', async () => {
    const { email } = await signUp(cabinet)
    const unknown = newEmail()
    for (const address of [email, unknown]) {
      await guess(address, 11)
      const { body } = await cabinet.visitor().post('/auth/login', { email: address, password: 'x' })
      expect(body.challenge.parameters.data).toEqual({ operation: 'login', work: 2 })
    }
    const owner = cabinet.visitor()
    expect((await postProven(owner, '/auth/login', { email, password: aPassword })).status).toBe(200)
  })

  test('with the password and no code do not keep the owner’s device from entering one', async () => {
    const { email, visitor, userId } = await signUp(cabinet)
    const { body } = await visitor.post('/me/totp/enrol', { password: aPassword })
    const code = () => generateSync({ secret: body.secret, epoch: Math.floor(Date.now() / 1000) })
    expect((await visitor.post('/me/totp/confirm', { code: code() })).status).toBe(200)
    const login = { email, password: aPassword }
    const stranger = cabinet.visitor()
    expect((await stranger.post('/auth/login', login)).status).toBe(200)
    expect(stranger.device, 'a device is known only once everything was proven').toBeUndefined()
    for (const status of [401, 401, 401, 401, 401, 429])
      expect((await stranger.post('/auth/login/totp', { recovery_code: 'wrong' })).status).toBe(status)
    await pool.query('update users set totp_last_step = 0 where id = $1', [userId])
    expect((await visitor.post('/me/totp/step-up', { code: code() })).status).toBe(204)
    await pool.query('update users set totp_last_step = 0 where id = $1', [userId])
    expect((await visitor.post('/auth/login', login)).status).toBe(200)
    expect((await visitor.post('/auth/login/totp', { code: code() })).status).toBe(204)
  })
})

describe('a device that has signed in', () => {
  test('is known by a cookie that no script reads, and that opens nothing', async () => {
    const { email, visitor } = await signUp(cabinet)
    const answer = await cabinet.visitor().post('/auth/login', { email, password: aPassword })
    expect(answer.headers.getSetCookie()[1]).toMatch(
      /^__Host-model_gateway_device=[\w-]+\.[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    visitor.cookie = undefined
    expect((await visitor.get('/me')).status).toBe(401)
  })

  test.each(['', 'x', 'x.y', `${'a'.repeat(40)}.${'b'.repeat(43)}`])('is not known by %j', async (value) => {
    const { email } = await signUp(cabinet)
    await guess(email, 6)
    const visitor = cabinet.visitor()
    visitor.device = `__Host-model_gateway_device=${value}`
    expect((await visitor.post('/auth/login', { email, password: aPassword })).status).toBe(428)
  })

  test('of another user is as good as none', async () => {
    const [{ email }, { visitor }] = [await signUp(cabinet), await signUp(cabinet)]
    await guess(email, 6)
    expect((await visitor.post('/auth/login', { email, password: aPassword })).status).toBe(428)
  })

  test('is known after the keys were rotated', async () => {
    const { email, visitor } = await signUp(cabinet)
    await guess(email, 6)
    const newKey = Buffer.alloc(32, randomUUID()).toString('base64')
    await using rotated = await startTestWeb(cabinet.database, {
      CABINET_SEALING_KEY: `${newKey},${webSettings.CABINET_SEALING_KEY}`,
    })
    const { status } = await rotated.call('POST', '/auth/login', {
      body: { email, password: aPassword },
      headers: { cookie: visitor.device ?? '' },
    })
    expect(status).toBe(200)
  })

  test('waits only for its own failures', async () => {
    const { email, visitor } = await signUp(cabinet)
    const login = (password: string) => visitor.post('/auth/login', { email, password })
    for (const status of [401, 401, 401, 401, 401, 429]) expect((await login('wrong')).status).toBe(status)
    expect((await cabinet.visitor().post('/auth/login', { email, password: aPassword })).status).toBe(200)
  })
})

test('registration always requires a proof of work', async () => {
  const visitor = cabinet.visitor()
  const asked = await visitor.call('POST', '/auth/register', registration(), { [proofHeader]: '' })
  expect([asked.status, asked.body.challenge.parameters.data]).toEqual([
    428,
    { operation: 'register', work: 1 },
  ])
  expect((await visitor.post('/auth/register', registration())).status).toBe(202)
})
