import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { letTimePass, lettersTo, tokenTo } from '../support/cabinet.ts'
import { visit } from './addresses.ts'
import { pressTwice } from './hand.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { newEmail, openBrowser, password, register, signInOwner, system } from './visitor.ts'

const cabinet = await ownCabinetOfThisFile()

async function listOf(page: Page, path: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const { data } = (await (await page.request.get(`/api/v1${path}`)).json()) as {
    readonly data: readonly Readonly<Record<string, string>>[]
  }
  return data
}

async function fillRegistration(page: Page, email: string): Promise<void> {
  await page.goto('/register')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(password)
  await page.locator('[name=accept_offer]').check()
  await page.locator('[name=accept_pdn]').check()
}

/** The calls with POST that this page makes from now on. */
function postsOf(page: Page): readonly string[] {
  const posts: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(new URL(request.url()).pathname.replace('/api/v1/auth/', ''))
  })
  return posts
}

test('two clicks at once on every form of registration and sign-in make one call each: one account, one email, one session', async () => {
  const { page } = await openBrowser({}, { baseURL: cabinet.url })
  const posts = postsOf(page)
  const email = newEmail()
  await fillRegistration(page, email)
  await pressTwice(page.locator('form [type=submit]'))
  await page.getByRole('heading', { name: 'Проверьте почту' }).waitFor()
  const { rows } = await cabinet.pool.query<{ link: string }>(
    `select vars->>'link' as link from email_outbox where recipient = $1`,
    [email],
  )
  expect(rows).toHaveLength(1)
  await page.goto(rows[0]?.link ?? '')
  await pressTwice(page.locator('form [type=submit]'))
  await page.waitForURL('**/app')
  await page.context().clearCookies()
  await page.goto('/login')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(password)
  await pressTwice(page.locator('form [type=submit]'))
  await page.waitForURL('**/app')
  // The server demands proof of work for the first one.
  expect(posts).toEqual(['register', 'register', 'verify-email', 'login'])
})

test('two clicks at once request one email, and set one password', async () => {
  const { email } = await cabinet.signUp()
  const unconfirmed = newEmail()
  const letters = async (to: string) => (await lettersTo(cabinet.pool, to)).map(({ kind }) => kind)
  const { page } = await openBrowser({}, { baseURL: cabinet.url })
  const submit = page.locator('form [type=submit]')
  const sent = page.getByRole('heading', { name: 'Проверьте почту' })
  await fillRegistration(page, unconfirmed)
  await submit.click()
  await sent.waitFor()
  await letTimePass(cabinet.pool, unconfirmed, 60)

  const posts = postsOf(page)
  for (const [address, to] of [
    ['/verify-email', unconfirmed],
    ['/reset', email],
  ] as const) {
    await page.goto(address)
    await page.locator('[name=email]').fill(to)
    await pressTwice(submit)
    await sent.waitFor()
  }
  expect(await letters(unconfirmed)).toEqual(['verify_email', 'verify_email'])
  expect(await letters(email)).toEqual(['verify_email', 'reset_password'])

  await page.goto(`/reset#token=${await tokenTo(cabinet.pool, email, 'reset_password')}`)
  await page.locator('[name=password]').fill('another long phrase')
  await pressTwice(submit)
  await page.waitForURL('**/login')
  expect(await letters(email)).toEqual(['verify_email', 'reset_password', 'password_changed'])
  expect(posts).toEqual(['resend-verification', 'password/forgot', 'password/reset'])
})

test('the same registration in two tabs at once is one account', async () => {
  const { page } = await openBrowser({}, { baseURL: cabinet.url })
  const other = await page.context().newPage()
  const email = newEmail()
  await Promise.all([page, other].map((tab) => fillRegistration(tab, email)))
  await Promise.all([page, other].map((tab) => tab.locator('form [type=submit]').click()))
  await Promise.all(
    [page, other].map((tab) => tab.getByRole('heading', { name: 'Проверьте почту' }).waitFor()),
  )
  const { rows } = await cabinet.pool.query('select count(*)::int as count from users where email = $1', [
    email,
  ])
  expect(rows).toEqual([{ count: 1 }])
})

test('an email link opened again, by Back or a reload, confirms nothing twice and shows a message', async () => {
  const { page } = await openBrowser({}, { baseURL: cabinet.url })
  const email = newEmail()
  await fillRegistration(page, email)
  await page.locator('form [type=submit]').click()
  await page.getByRole('heading', { name: 'Проверьте почту' }).waitFor()
  const { rows } = await cabinet.pool.query<{ link: string }>(
    `select vars->>'link' as link from email_outbox where recipient = $1`,
    [email],
  )
  const link = rows[0]?.link ?? ''
  await page.goto(link)
  await page.locator('form [type=submit]').click()
  await page.waitForURL('**/app')
  await page.goBack()
  await page.reload()
  await page.locator('h1').waitFor()
  const { rows: grants } = await cabinet.pool.query(
    `select count(*)::int as count from balance_ledger l
       join memberships m using (organization_id) join users u on u.id = m.user_id
      where u.email = $1 and l.kind = 'trial'`,
    [email],
  )
  expect(grants).toEqual([{ count: 1 }])
})

test('two clicks at once, Back and a reload create one key and one payment each', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/keys?new')
  await page.locator('dialog [name=name]').fill('Once')
  await pressTwice(page.locator('dialog [type=submit]'))
  await page.getByRole('button', { name: 'Ключ сохранён' }).click()
  await page.goBack()
  await page.reload()
  await page.locator('h1').waitFor()
  expect((await listOf(page, '/keys')).map(({ name }) => name)).toEqual(['Once'])

  await page.goto('/app/billing')
  await page.locator('[name=amount_rub]').fill('500')
  await page.getByRole('button', { name: 'Перейти к оплате' }).waitFor()
  await pressTwice(page.locator('form:has([name=amount_rub]) [type=submit]'))
  await page.waitForURL(`${system.testPaymentsUrl}/**`)
  await page.goBack()
  await page.reload()
  await page.locator('h1').waitFor()
  expect(await listOf(page, '/payments')).toHaveLength(1)
})

for (const [direction, ms] of [
  ['an hour ahead', 3_600_000],
  ['an hour behind', -3_600_000],
] as const)
  test(`a browser whose clock is ${direction} signs in, stays signed in, and shows the server's times`, async () => {
    const { page } = await openBrowser()
    await page.clock.install({ time: Date.now() + ms })
    await page.clock.resume()
    await signInOwner(page)
    for (const address of [
      '/app',
      '/app/keys',
      '/app/usage',
      '/app/requests',
      '/app/billing',
      '/app/billing/payments',
      '/app/billing/history',
      '/app/settings',
    ]) {
      await visit(page, address)
      expect(new URL(page.url()).pathname).toBe(address)
      expect(await page.getByRole('alert').count(), address).toBe(0)
    }
    await visit(page, '/app/keys')
    await page.getByText('Активен').first().waitFor()
    expect(await page.getByText('Срок истёк').count()).toBe(0)
  })
