import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateSync } from 'otplib'
import { expect, test } from 'vitest'
import { readBalance } from '#core/ledger/balance'
import { aPassword, cabinetOfThisFile, newEmail, registration, signUp, tokenTo } from '../support/cabinet.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { appUrl } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile()
const { pool, database } = cabinet
const run = promisify(execFile)

function command(args: readonly string[], env: Readonly<Record<string, string>> = { APP_URL: `${appUrl}/` }) {
  return run(process.execPath, ['cabinet/people/main.ts', ...args], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: { ...inheritedEnvironment, DATABASE_URL: database.url, ...env },
  })
}

function tokenIn(stdout: string): string {
  return /^http:\/\/localhost:3000\/reset#token=([\w-]{43})$/m.exec(stdout)?.[1] ?? ''
}

test('npm run admin makes an administrator, who sets a password by its link and a second factor, and only then administers', async () => {
  const email = newEmail()
  const { stdout } = await command([email])
  expect(stdout).toContain('two-factor')
  const visitor = cabinet.visitor()
  const reset = { token: tokenIn(stdout), password: aPassword }
  expect((await visitor.post('/auth/password/reset', reset)).status).toBe(204)
  expect((await visitor.post('/auth/password/reset', reset)).body.code).toBe('invalid_token')
  const login = await visitor.post('/auth/login', { email, password: aPassword })
  expect(login.headers.getSetCookie()[0], 'twelve hours').toContain('Max-Age=43200')
  const { body: me } = await visitor.get('/me')
  expect(me).toMatchObject({ role: 'admin', is_confirmed: true, has_totp: false })
  expect(await readBalance(pool, me.organization.id), 'no trial').toBe(0n)
  expect((await visitor.get('/admin/anything')).body.code).toBe('mfa_required')
  const { body } = await visitor.post('/me/totp/enrol', { password: aPassword })
  await visitor.post('/me/totp/confirm', { code: generateSync({ secret: body.secret }) })
  expect((await visitor.get('/admin/anything')).body.code).toBe('not_found')
  const { rows: consents } = await pool.query(
    'select kind, agent from consents where user_id = $1 order by kind',
    [me.id],
  )
  expect(consents).toEqual([
    { kind: 'offer', agent: 'npm run admin' },
    { kind: 'personal_data', agent: 'npm run admin' },
  ])
  const { rows: audit } = await pool.query(
    `select action, actor_id from audit_log where subject_id = $1 and action like 'user.%' order by id limit 3`,
    [me.id],
  )
  expect(audit).toEqual([
    { action: 'user.register', actor_id: 'npm run admin' },
    { action: 'user.confirm_email', actor_id: 'npm run admin' },
    { action: 'user.make_administrator', actor_id: 'npm run admin' },
  ])
})

test('npm run admin promotes a registered user, keeps the password, and ends the sessions', async () => {
  const { email, visitor, userId } = await signUp(cabinet)
  const { stdout } = await command([` ${email.toUpperCase()}`])
  expect([stdout.includes('is now an administrator'), tokenIn(stdout)]).toEqual([true, ''])
  expect((await visitor.get('/me')).status).toBe(401)
  await visitor.post('/auth/login', { email, password: aPassword })
  expect((await visitor.get('/me')).body).toMatchObject({ id: userId, role: 'admin' })
  expect((await command([email])).stdout).toContain('Nothing changed')
  const { rows } = await pool.query(
    `select before, after from audit_log where subject_id = $1 and action = 'user.make_administrator'`,
    [userId],
  )
  expect(rows).toEqual([{ before: { role: 'user' }, after: { role: 'admin' } }])
})

test('npm run admin takes an unconfirmed address away from the user who registered it', async () => {
  const email = newEmail()
  const theirs = 'the password of somebody else'
  const attacker = cabinet.visitor()
  await attacker.post('/auth/register', registration({ email, password: theirs }))
  await attacker.post('/auth/login', { email, password: theirs })
  const letter = await tokenTo(pool, email)
  const link = tokenIn((await command([email])).stdout)
  expect((await attacker.get('/me')).status).toBe(401)
  // Their email is in the new administrator's mailbox, and asks for a click.
  const owner = cabinet.visitor()
  await owner.post('/auth/verify-email', { token: letter })
  expect(owner.cookie).toBeUndefined()
  expect((await attacker.post('/auth/login', { email, password: theirs })).status).toBe(401)
  expect((await owner.post('/auth/password/reset', { token: link, password: aPassword })).status).toBe(204)
  await owner.post('/auth/login', { email, password: aPassword })
  expect((await owner.get('/me')).body).toMatchObject({ role: 'admin', is_confirmed: true })
})

test('npm run admin prints a new link as long as there is no password', async () => {
  const email = newEmail()
  const first = tokenIn((await command([email])).stdout)
  const second = tokenIn((await command([email])).stdout)
  expect(second).not.toBe(first)
  expect(
    (await cabinet.visitor().post('/auth/password/reset', { token: second, password: aPassword })).status,
  ).toBe(204)
})

test('npm run admin reports invalid arguments, and creates no user', async () => {
  await expect(command(['nobody'])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('EMAIL must be'),
  })
  await expect(command([])).rejects.toMatchObject({ code: 2 })
  const email = newEmail()
  await expect(command([email], {})).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('APP_URL'),
  })
  const { rows } = await pool.query('select from users where email = $1', [email])
  expect(rows).toEqual([])
})
