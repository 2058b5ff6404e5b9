import { expect, test } from 'vitest'
import { makeAdministrator } from '#cabinet/administrators/made-administrator'
import { inScope } from '#core/audit/scope'
import { adminCommand, codeOf, setUpAdministrator, setUpTokenIn } from '../support/administrators.ts'
import { aPassword, newEmail, visitorOf } from '../support/cabinet.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { administrationOfThisFile } from '../support/web.ts'

const [database, redis] = await Promise.all([databaseOfThisFile(), redisOfThisFile()])
const { pool } = database
const administration = await administrationOfThisFile(database, {
  REDIS_URL: redis.url,
  // So that each visitor has an address and separate throttles.
  TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
})
const visitor = () => visitorOf(administration.url)
const command = (...args: readonly string[]) => adminCommand(database.url, args)
/** What the command does, in this process: starting another one each time takes long. */
const make = (email: string, wish: Parameters<typeof makeAdministrator>[2] = 'make') =>
  inScope(pool, { actor: { kind: 'command', name: 'npm run admin' }, organizationId: null }, (client) =>
    makeAdministrator(client, email, wish),
  )
const tokenOf = async (...args: Parameters<typeof make>) => {
  const made = await make(...args)
  return 'token' in made ? made.token : ''
}

/** An administrator who has set up the account. */
async function ready() {
  const email = newEmail()
  const admin = visitor()
  const secret = await setUpAdministrator(admin, await tokenOf(email))
  return { email, admin, secret }
}

/** A code is good once in 30 s, and a test does not wait for the next one. */
const forgetCodes = (email: string) =>
  pool.query('update administrators set totp_last_step = 0 where lower(email) = lower($1)', [email])

async function auditOf(email: string) {
  const { rows } = await pool.query(
    `select action, actor_kind from audit_log
      where subject_id = (select id::text from administrators where email = $1) order by id`,
    [email],
  )
  return rows.map(({ action, actor_kind }) => `${actor_kind} ${action.replace('administrator.', '')}`)
}

test('an administrator sets password and second factor with the printed token, and signs in with both', async () => {
  const email = newEmail()
  const { stdout } = await command(` ${email.toUpperCase()}`)
  const token = setUpTokenIn(stdout)
  expect(stdout).toContain('http://localhost:3003/setup')
  const admin = visitor()
  expect((await admin.post('/auth/setup/confirm', { token, code: '123456' })).body.code).toBe('conflict')
  const { body } = await admin.post('/auth/setup', { token, password: aPassword })
  expect((await admin.post('/auth/setup/confirm', { token, code: '000000' })).body.code).toBe('invalid_code')
  const login = { email, password: aPassword }
  const early = { ...login, code: codeOf(body.secret) }
  expect((await visitor().post('/auth/login', early)).status).toBe(401)
  const first = codeOf(body.secret)
  const confirmed = await admin.post('/auth/setup/confirm', { token, code: first })
  expect(confirmed.body.recovery_codes).toHaveLength(10)
  expect(confirmed.headers.getSetCookie()[0]).toMatch(
    /^__Host-model_gateway_administration=.*Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  )
  expect((await admin.get('/me')).body).toMatchObject({ email: email.toUpperCase(), recovery_codes_left: 10 })
  expect((await visitor().post('/auth/setup', { token, password: aPassword })).body.code).toBe(
    'invalid_token',
  )

  const [recovery_code] = confirmed.body.recovery_codes
  const signIn = async (fields: object) =>
    (await visitor().post('/auth/login', { ...login, ...fields })).status
  expect(await signIn({})).toBe(422)
  expect(await signIn({ code: first }), 'a code is good once').toBe(401)
  await forgetCodes(email)
  expect(await signIn({ code: codeOf(body.secret) })).toBe(204)
  expect([await signIn({ recovery_code }), await signIn({ recovery_code })]).toEqual([204, 401])
  await forgetCodes(email)
  expect(await signIn({ password: 'not the password at all', code: codeOf(body.secret) })).toBe(401)
  const { rows } = await pool.query('select from users where lower(email) = lower($1)', [email])
  expect(rows, 'no account of the cabinet').toEqual([])
})

test('an administrator’s sessions are listed and ended, and a step-up takes each code once', async () => {
  const { email, admin, secret } = await ready()
  const other = visitor()
  await forgetCodes(email)
  const code = codeOf(secret)
  expect((await other.post('/auth/login', { email, password: aPassword, code })).status).toBe(204)
  const { body } = await admin.get('/me/sessions')
  expect(body.data).toHaveLength(2)
  const theirs = body.data.find((one: { readonly is_current: boolean }) => !one.is_current)
  expect((await admin.call('DELETE', `/me/sessions/${theirs.id}`)).status).toBe(204)
  expect((await other.get('/me')).status).toBe(401)
  expect((await admin.post('/me/totp/step-up', { code })).status).toBe(401)
  await forgetCodes(email)
  expect((await admin.post('/me/totp/step-up', { code: codeOf(secret) })).status).toBe(204)
  await forgetCodes(email)
  const renewed = await admin.post('/me/recovery-codes', { code: codeOf(secret) })
  expect(renewed.body.recovery_codes).toHaveLength(10)
  expect((await admin.post('/auth/logout')).status).toBe(204)
  expect(admin.cookie).toBeUndefined()
})

test('a reset ends password, second factor and sessions; a block ends sessions until a reset', async () => {
  const { email, admin, secret } = await ready()
  expect(await make(email)).toEqual({ was: 'ready' })
  await forgetCodes(email)
  const login = { email, password: aPassword, code: codeOf(secret) }
  expect(await make(email, 'block')).toEqual({ was: 'now_blocked' })
  expect((await admin.get('/me')).status).toBe(401)
  expect((await visitor().post('/auth/login', login)).body.code).toBe('invalid_credentials')
  expect(await make(email)).toEqual({ was: 'blocked' })
  const token = await tokenOf(email, 'reset')
  expect((await visitor().post('/auth/login', login)).body.code).toBe('invalid_credentials')
  await setUpAdministrator(admin, token)
  expect((await admin.get('/me')).status).toBe(200)
  expect(await auditOf(email)).toEqual([
    'command create',
    'administrator set_up',
    'administrator renew_recovery_codes',
    'command block',
    'job refuse_sign_in',
    'command reset',
    'job refuse_sign_in',
    'administrator set_up',
    'administrator renew_recovery_codes',
  ])
})

test('a newer token ends the older one', async () => {
  const email = newEmail()
  const [first, second] = [await tokenOf(email), await tokenOf(email)]
  const used = await visitor().post('/auth/setup', { token: first, password: aPassword })
  expect(used.body.code).toBe('invalid_token')
  await setUpAdministrator(visitor(), second)
})

test('npm run admin reports invalid arguments, and creates no one', async () => {
  const email = newEmail()
  for (const args of [['nobody'], [email, '--reset', '--block']])
    await expect(command(...args)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('EMAIL must be'),
    })
  await expect(adminCommand(database.url, [email], { ADMINISTRATION_URL: 'nowhere' })).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('ADMINISTRATION_URL'),
  })
  expect(await make(email, 'reset')).toEqual({ was: 'unknown' })
  const { rows } = await pool.query('select from administrators where email = $1', [email])
  expect(rows).toEqual([])
})
