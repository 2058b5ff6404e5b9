import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readBalance } from '#core/ledger/balance'
import { checkInvariants } from '#core/ledger/invariants'
import {
  aPassword,
  cabinetOfThisFile,
  letTimePass,
  lettersTo,
  newEmail,
  registration,
  sameRequestId,
  signUp,
  tokenTo,
} from '../support/cabinet.ts'
import { appUrl } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile()
const { pool } = cabinet

/** 30 ₽. */
const trialNano = 30_000_000_000n

async function register(fields: Readonly<Record<string, unknown>> = {}) {
  return cabinet.visitor().post('/auth/register', registration(fields))
}

function verify(token: string, visitor = cabinet.visitor()) {
  return visitor.post('/auth/verify-email', { token })
}

async function login(email: string, password = aPassword) {
  return (await cabinet.visitor().post('/auth/login', { email, password })).status
}

async function countOf(table: 'users' | 'organizations' | 'email_outbox' | 'consents'): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return rows[0]?.count ?? -1
}

describe('registration', () => {
  test('makes user, both consents, organization and owner, and writes an email; no one is signed in', async () => {
    const email = newEmail()
    const visitor = cabinet.visitor()
    const answer = await visitor.call('POST', '/auth/register', registration({ email }), {
      'user-agent': 'curl/8',
    })
    expect([answer.status, answer.body, visitor.cookie]).toEqual([
      202,
      { status: 'verification_sent' },
      undefined,
    ])
    const { rows } = await pool.query(
      `select u.role, u.locale, u.email_confirmed_at, o.name, m.role as member, a.balance
         from users u join memberships m on m.user_id = u.id join organizations o on o.id = m.organization_id
         join org_account a on a.organization_id = o.id where u.email = $1`,
      [email],
    )
    expect(rows).toEqual([
      {
        role: 'user',
        locale: 'en',
        email_confirmed_at: null,
        member: 'owner',
        balance: 0n,
        name: expect.stringMatching(/^org-[0-9a-z]{10}$/),
      },
    ])
    const { rows: consents } = await pool.query(
      `select kind, version, locale, withdrawn, agent, address, sha256 from consents
        where user_id = (select id from users where email = $1) order by kind`,
      [email],
    )
    const { body: legal } = await visitor.get('/legal/documents')
    expect(consents).toEqual(
      ['offer', 'personal_data'].map((kind) => ({
        kind,
        version: '2026-11-22',
        locale: 'en',
        withdrawn: false,
        agent: 'curl/8',
        address: expect.stringMatching(/^10\./),
        sha256: legal.data.find(
          (one: { kind: string; locale: string }) => one.kind === kind && one.locale === 'en',
        ).sha256,
      })),
    )
    const letters = await lettersTo(pool, email)
    expect(letters.map(({ kind, locale }) => [kind, locale])).toEqual([['verify_email', 'en']])
    expect(letters[0]?.vars.link).toMatch(new RegExp(`^${appUrl}/verify-email#token=[\\w-]{43}$`))
  })

  test('takes nothing but what it needs, and ignores the rest', async () => {
    const email = newEmail()
    const fields = {
      email: `  ${email} `,
      locale: 'ru',
      organization: 'acme',
      balance: '1000',
    }
    expect((await register(fields)).status).toBe(202)
    const { rows } = await pool.query('select email, role, locale from users where email = $1', [email])
    expect(rows).toEqual([{ email, role: 'user', locale: 'ru' }])
    expect((await lettersTo(pool, email))[0]?.locale).toBe('ru')
  })

  test.each([false, undefined, 'true', 1, null])(
    'without a consent that is exactly true is 422 (%s)',
    async (consent) => {
      const before = await countOf('users')
      for (const field of ['accept_offer', 'accept_pdn']) {
        const { status, body } = await register({ [field]: consent })
        expect([status, body.code, body.errors]).toMatchObject([
          422,
          'consent_required',
          [{ path: field, code: 'consent_required', message: expect.any(String) }],
        ])
      }
      const { body } = await register({ accept_offer: consent, accept_pdn: consent })
      expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(['accept_offer', 'accept_pdn'])
      expect(await countOf('users')).toBe(before)
    },
  )

  test('with an address that is none, or a password too short or too long, is 422 and makes nothing', async () => {
    const before = await countOf('users')
    const long = `${'a'.repeat(255 - '@example.com'.length)}@example.com`
    for (const [field, value] of [
      ['email', long],
      ['email', 'a@example.com\r\nBcc: b@example.com'],
      ['email', 'nobody'],
      ['email', 'a@b@example.com'],
      ['email', 'a\u0000@example.com'],
      ['email', 7],
      ['password', 'x'.repeat(11)],
      ['password', 'x'.repeat(129)],
      ['password', ['x'.repeat(20)]],
    ] as const) {
      const { status, body } = await register({ [field]: value })
      expect([status, body.code, body.errors[0].path]).toEqual([422, 'validation_failed', field])
      expect(body.errors[0].message).not.toBe('')
    }
    expect(await countOf('users')).toBe(before)
  })

  test('with an address of a service of mailboxes to be thrown away is 422 and makes nothing', async () => {
    const before = await countOf('users')
    for (const email of ['a@mailinator.com', 'a@x.MAILINATOR.com']) {
      const { status, body } = await register({ email })
      expect([status, body.errors]).toMatchObject([
        422,
        [{ path: 'email', code: 'disposable_email', message: expect.stringMatching(/another address/) }],
      ])
    }
    expect(await countOf('users')).toBe(before)
  })

  test('of a known address answers the same bytes, and changes nothing that is not its owner’s to see', async () => {
    const unconfirmed = newEmail()
    await register({ email: unconfirmed })
    const { email: confirmed } = await signUp(cabinet)
    const before = [await countOf('users'), await countOf('organizations')]
    const ask = async (email: string) => {
      const answer = await cabinet
        .visitor()
        .call('POST', '/auth/register', registration({ email }), sameRequestId)
      const { date: _, ...headers } = Object.fromEntries(answer.headers)
      return { status: answer.status, text: answer.text, headers }
    }
    const told = [await ask(unconfirmed), await ask(confirmed.toUpperCase()), await ask(newEmail())]
    expect(told[0]).toEqual(told[2])
    expect(told[1]).toEqual(told[2])
    expect([await countOf('users'), await countOf('organizations')]).toEqual(before.map((count) => count + 1))
  })

  test('of a confirmed address notifies its owner by email, at most once an hour', async () => {
    const { email } = await signUp(cabinet)
    for (let n = 0; n < 3; n++) await register({ email })
    const letters = (await lettersTo(pool, email)).slice(1)
    expect(letters.map(({ kind, vars }) => ({ kind, vars }))).toEqual([
      { kind: 'already_registered', vars: { loginLink: `${appUrl}/login`, resetLink: `${appUrl}/reset` } },
    ])
    expect(await login(email)).toBe(200)
  })

  test('of one address by fifteen at once makes one user', async () => {
    const email = newEmail()
    const statuses = await Promise.all(
      Array.from({ length: 15 }, async () => (await register({ email })).status),
    )
    expect(new Set(statuses)).toEqual(new Set([202]))
    const { rows } = await pool.query(
      'select count(*)::int as users, (select count(*)::int from email_outbox where recipient = $1) as letters from users where email = $1',
      [email],
    )
    expect(rows).toEqual([{ users: 1, letters: 1 }])
  })

  test('is never cross-site, and needs none of a browser’s headers', async () => {
    const from = (headers: Record<string, string>) =>
      cabinet.visitor().call('POST', '/auth/register', registration(), headers)
    expect((await from({ 'sec-fetch-site': 'cross-site' })).body.code).toBe('cross_site_request')
    expect((await from({ origin: 'https://evil.example' })).body.code).toBe('cross_site_request')
    expect((await from({})).status).toBe(202)
  })
})

describe('an email’s token', () => {
  test('confirms the address, posts the trial with its bonus and its audit rows, and signs in', async () => {
    const email = newEmail()
    const visitor = cabinet.visitor()
    await visitor.post('/auth/register', registration({ email }))
    const answer = await verify(await tokenTo(pool, email), visitor)
    expect([answer.status, answer.text]).toEqual([204, ''])
    const { body: me } = await visitor.get('/me')
    expect(me).toMatchObject({
      email,
      is_confirmed: true,
      has_totp: false,
      organization: { role: 'owner', rights: expect.arrayContaining(['keys.write', 'organization.write']) },
    })
    expect(await readBalance(pool, me.organization.id)).toBe(trialNano)
    const { rows: bonuses } = await pool.query(
      `select b.kind, b.amount, l.amount as booked, l.kind as ledger_kind from bonuses b
         join balance_ledger l on l.ref_id = b.id where b.organization_id = $1`,
      [me.organization.id],
    )
    expect(bonuses).toEqual([{ kind: 'trial', amount: trialNano, booked: trialNano, ledger_kind: 'trial' }])
    const { rows: audit } = await pool.query(
      'select action, actor_kind from audit_log where actor_id = $1 order by id',
      [me.id],
    )
    expect(audit.map(({ action }) => action)).toEqual([
      'user.register',
      'organization.create',
      'organization.add_member',
      'user.confirm_email',
      'organization.grant_trial',
    ])
    const found = await checkInvariants(pool)
    expect(found.filter(({ breachCount }) => breachCount > 0)).toEqual([])
  })

  test('is not spent by a GET, and does not sign in a second time', async () => {
    const email = newEmail()
    await register({ email })
    const token = await tokenTo(pool, email)
    expect((await cabinet.visitor().get('/auth/verify-email')).status).toBe(404)
    expect((await verify(token)).status).toBe(204)
    const late = cabinet.visitor()
    expect([(await verify(token, late)).status, late.cookie]).toEqual([204, undefined])
  })

  test('that is unknown, expired, or of another kind is refused', async () => {
    const email = newEmail()
    await register({ email })
    const token = await tokenTo(pool, email)
    await letTimePass(pool, email, 24 * 3_600 + 1)
    const { email: other } = await signUp(cabinet)
    await cabinet.visitor().post('/auth/password/forgot', { email: other })
    for (const bad of [token, 'x', '', randomUUID(), await tokenTo(pool, other, 'reset_password')]) {
      const { status, body } = await verify(bad)
      expect([status, body.code]).toEqual([422, 'invalid_token'])
    }
    expect((await verify('x'.repeat(257))).body.code).toBe('validation_failed')
  })

  test('spent by fifty at once posts one trial and begins one session', async () => {
    const email = newEmail()
    const tokens: string[] = []
    for (let n = 0; n < 5; n++) {
      await register({ email })
      tokens.push(await tokenTo(pool, email))
      await letTimePass(pool, email, 1_000)
    }
    expect(new Set(tokens).size).toBe(5)
    // So that every connection is open, and none comes too late to meet the others.
    await Promise.all(Array.from({ length: 20 }, () => verify('x')))
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const visitor = cabinet.visitor()
        const { status } = await verify(tokens[n % tokens.length] ?? '', visitor)
        return { status, hasSession: visitor.cookie !== undefined }
      }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
    expect(answers.filter(({ hasSession }) => hasSession)).toHaveLength(1)
    const { rows } = await pool.query(
      `select (select count(*)::int from bonuses where organization_id = m.organization_id) as bonuses,
              (select count(*)::int from balance_ledger where organization_id = m.organization_id) as entries
         from memberships m join users u on u.id = m.user_id where u.email = $1`,
      [email],
    )
    expect(rows).toEqual([{ bonuses: 1, entries: 1 }])
  })

  test('of a mailbox that had its trial before confirms without another, also when many come at once', async () => {
    const [name, domain] = newEmail().split('@')
    const emails = Array.from({ length: 8 }, (_, n) => `${name}${n === 0 ? '' : `+${n}`}@${domain}`)
    for (const email of emails) {
      await register({ email })
      await letTimePass(pool, email, 3_601)
    }
    const tokens = await Promise.all(emails.map((email) => tokenTo(pool, email)))
    const answers = await Promise.all(tokens.map((token) => verify(token)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
    const { rows } = await pool.query(
      `select count(*) filter (where u.email_confirmed_at is not null)::int as confirmed, count(b.id)::int as bonuses,
              sum(a.balance)::bigint as money
         from users u join memberships m on m.user_id = u.id join org_account a on a.organization_id = m.organization_id
         left join bonuses b on b.organization_id = m.organization_id where u.email = any($1)`,
      [emails],
    )
    expect(rows).toEqual([{ confirmed: 8, bonuses: 1, money: trialNano }])
  })

  test('confirms no password where two were chosen: neither who took an address before its owner has anything, nor who came after', async () => {
    const email = newEmail()
    const theirs = 'the password of somebody else'
    const attacker = cabinet.visitor()
    await attacker.post('/auth/register', registration({ email, password: theirs }))
    expect((await attacker.post('/auth/login', { email, password: theirs })).status).toBe(200)
    expect((await attacker.get('/me')).status).toBe(200)
    expect((await attacker.post('/me/totp/enrol', { password: theirs })).body.code).toBe('email_not_verified')
    await letTimePass(pool, email, 61)
    await register({ email })
    await letTimePass(pool, email, 61)
    await attacker.post('/auth/register', registration({ email, password: `${theirs} again` }))
    const owner = cabinet.visitor()
    expect((await verify(await tokenTo(pool, email), owner)).status).toBe(204)
    expect([(await attacker.get('/me')).status, (await owner.get('/me')).status]).toEqual([401, 200])
    expect([await login(email, theirs), await login(email, `${theirs} again`)]).toEqual([401, 401])
    expect(await login(email)).toBe(401)
  })

  test('that a stranger asked for just before its owner, who then got none, confirms neither’s password', async () => {
    const email = newEmail()
    const theirs = 'the password of somebody else'
    await register({ email, password: theirs })
    await register({ email })
    expect(await lettersTo(pool, email)).toHaveLength(1)
    const visitor = cabinet.visitor()
    expect((await verify(await tokenTo(pool, email), visitor)).status).toBe(204)
    expect((await visitor.get('/me')).body.is_confirmed).toBe(true)
    expect([await login(email, theirs), await login(email)]).toEqual([401, 401])
  })

  test('confirms the password of a registration that was sent twice', async () => {
    const email = newEmail()
    await register({ email })
    await register({ email })
    expect((await verify(await tokenTo(pool, email))).status).toBe(204)
    expect(await login(email)).toBe(200)
  })

  test('that was sent again after two registrations confirms neither’s password', async () => {
    const email = newEmail()
    await register({ email, password: 'the password of somebody else' })
    await letTimePass(pool, email, 61)
    await register({ email })
    await letTimePass(pool, email, 61)
    const visitor = cabinet.visitor()
    await visitor.post('/auth/resend-verification', { email })
    expect((await verify(await tokenTo(pool, email), visitor)).status).toBe(204)
    expect((await visitor.get('/me')).body.is_confirmed).toBe(true)
    expect([await login(email), await login(email, 'the password of somebody else')]).toEqual([401, 401])
  })
})

describe('a mailbox', () => {
  test('gets four emails an hour from strangers, under whatever address; who registers then gets his later', async () => {
    const [name, domain] = newEmail().split('@')
    const emails = Array.from({ length: 7 }, (_, n) => `${name}+${n}@${domain}`)
    const answers = []
    for (const email of emails) answers.push(await register({ email }))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    const counts = await Promise.all(emails.map(async (email) => (await lettersTo(pool, email)).length))
    expect(counts).toEqual([1, 1, 1, 1, 0, 0, 0])
    const last = emails.at(-1) ?? ''
    for (const email of emails) await letTimePass(pool, email, 3_601)
    await cabinet.visitor().post('/auth/resend-verification', { email: last })
    expect((await verify(await tokenTo(pool, last))).status).toBe(204)
    expect(await login(last), 'with the password of the registration').toBe(200)
  })
})

describe('another email', () => {
  test('is sent to a registered address, confirms the same password, and not more often than once a minute', async () => {
    const email = newEmail()
    await register({ email })
    const resend = () => cabinet.visitor().post('/auth/resend-verification', { email })
    expect((await resend()).status).toBe(202)
    expect(await lettersTo(pool, email)).toHaveLength(1)
    for (let n = 0; n < 8; n++) {
      await letTimePass(pool, email, 61)
      await resend()
    }
    expect(await lettersTo(pool, email), 'four an hour').toHaveLength(4)
    expect((await verify(await tokenTo(pool, email))).status).toBe(204)
    expect(await login(email)).toBe(200)
    await resend()
    expect(await lettersTo(pool, email), 'confirmed').toHaveLength(4)
  })

  test('is answered with the same bytes whether or not the address is known', async () => {
    const unconfirmed = newEmail()
    await register({ email: unconfirmed })
    await letTimePass(pool, unconfirmed, 61)
    const { email: confirmed } = await signUp(cabinet)
    for (const path of ['/auth/resend-verification', '/auth/password/forgot']) {
      const told = []
      for (const email of [unconfirmed, confirmed, newEmail()]) {
        const answer = await cabinet.visitor().call('POST', path, { email }, sameRequestId)
        const { date: _, ...headers } = Object.fromEntries(answer.headers)
        told.push({ status: answer.status, text: answer.text, headers })
      }
      expect(told[0]?.status).toBe(202)
      expect(told[0]).toEqual(told[2])
      expect(told[1]).toEqual(told[2])
    }
  })
})

test('the legal documents are public, by version and language', async () => {
  const visitor = cabinet.visitor()
  const { body } = await visitor.get('/legal/documents')
  expect(body.data).toHaveLength(6)
  for (const { url, sha256 } of body.data) {
    const document = await visitor.get(url.replace('/api/v1', ''))
    expect([document.status, document.body.sha256, document.headers.get('etag')]).toEqual([
      200,
      sha256,
      `"${sha256}"`,
    ])
    expect(document.body.text).toMatch(/заготовка|placeholder/)
  }
  expect((await visitor.get('/legal/documents/offer/2000-01-01/ru')).status).toBe(404)
})

test('no password, token or address is in the audit log or in a log line', async () => {
  const { email, visitor } = await signUp(cabinet)
  const token = await tokenTo(pool, email)
  await visitor.get('/me')
  const { rows } = await pool.query<{ row: string }>('select a::text as row from audit_log a')
  const said = [...rows.map(({ row }) => row), ...cabinet.lines].join('\n')
  expect(said).toContain('user.confirm_email')
  for (const secret of [aPassword, token, '$argon2id$', visitor.cookie?.split('=')[1] ?? '', email])
    expect(said).not.toContain(secret)
})
