import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { shellWords } from '#cabinet/pages/app/messages'
import { billingWords } from '#cabinet/pages/features/billing/messages'
import { kitWords } from '#cabinet/pages/kit/messages'
import { expectNoViolations } from './axe.ts'
import { readFrom } from './signed-in-calls.ts'
import { openBrowser, register, signInOwner, system } from './visitor.ts'

const kit = kitWords.ru
const shell = shellWords.ru
const billing = billingWords.ru

const openSettings = (page: Page) =>
  page.getByRole('navigation').getByRole('link', { name: shell.settings }).first().click()
const settings = (page: Page) => page.getByRole('heading', { level: 1, name: shell.settings })

async function openOverview() {
  const visitor = await openBrowser()
  await signInOwner(visitor.page)
  await visitor.page.getByRole('heading', { level: 1 }).waitFor()
  return visitor
}

/** The error of a page that cannot be loaded; React logs it. */
function forgetFailedImports(complaints: string[]): void {
  const rest = complaints.filter((line) => !line.includes('the page could not be loaded'))
  complaints.splice(0, complaints.length, ...rest)
}

/** Counts the documents opened from now on. */
function countDocuments(page: Page): { count: number } {
  const opened = { count: 0 }
  page.on('request', (request) => {
    if (request.isNavigationRequest()) opened.count++
  })
  return opened
}

test('a page that the network could not load reports it, and opens automatically once it can', async () => {
  const { page, complaints } = await openOverview()
  await page.context().setOffline(true)
  await openSettings(page)
  const main = page.getByRole('main')
  await main.getByRole('heading', { level: 1, name: kit.offline }).waitFor()
  await main.getByRole('button', { name: kit.retry }).waitFor()
  await expectNoViolations(page)
  await page.context().setOffline(false)
  await settings(page).waitFor()
  forgetFailedImports(complaints)
}, 60_000)

test('a page whose file a deploy has removed is loaded with a new document', async () => {
  const { page, complaints } = await openOverview()
  const documents = countDocuments(page)
  await page.route('**/assets/settings-pages-*.js', (route) =>
    documents.count === 0 ? route.fulfill({ status: 404 }) : route.continue(),
  )
  await openSettings(page)
  await settings(page).waitFor()
  expect(documents.count).toBe(1)
  forgetFailedImports(complaints)
}, 60_000)

test('a page whose file stays missing reloads once, then reports it until the file is there', async () => {
  const { page, complaints } = await openOverview()
  const documents = countDocuments(page)
  const isGone = '**/assets/settings-pages-*.js'
  await page.route(isGone, (route) => route.fulfill({ status: 404 }))
  await openSettings(page)
  await page.waitForEvent('load')
  await page.getByRole('heading', { level: 1, name: shell.pageFailed }).waitFor()
  for (const _ of [1, 2]) await page.waitForResponse((response) => response.url().endsWith('/api/v1/config'))
  expect(documents.count).toBe(1)
  await page.getByRole('main').getByRole('button', { name: kit.retry }).waitFor()
  await page.unroute(isGone)
  await settings(page).waitFor()
  forgetFailedImports(complaints)
}, 60_000)

test('a sign-out that reached no server shows an error at its button, and works at the next click', async () => {
  const { page, proxy } = await openBrowser()
  await register(page)
  await page.getByRole('button', { name: shell.userMenu }).click()
  proxy.interrupt(({ pathname }) => pathname === '/api/v1/auth/logout', 'cut')
  const logout = page.getByRole('button', { name: shell.logout, exact: true })
  await logout.click()
  await page.getByRole('banner').getByRole('alert').getByText(kit.unreachable).waitFor()
  expect(new URL(page.url()).pathname).toBe('/app')
  await expectNoViolations(page)
  proxy.mend()
  await logout.click()
  await page.waitForURL('**/login')
}, 60_000)

type Payments = { readonly data: readonly { readonly id: string }[] }
const paymentsOf = async (page: Page) => (await readFrom<Payments>(page, '/payments')).data

test('a canceled way to the payment can be taken again within 15 s, to the same payment', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  const till = (url: URL) => url.origin === new URL(system.testPaymentsUrl).origin
  await page.route(till, (route) => route.fulfill({ status: 204 })) // the browser stays on the page
  const pay = page.getByRole('button', { name: billing.pay })
  await pay.click()
  await page.getByRole('alert').getByText(billing.tillNotOpened).waitFor({ timeout: 15_000 })
  await expectNoViolations(page)
  const [first] = await paymentsOf(page)
  await page.unroute(till)
  await pay.click()
  await page.getByRole('button', { name: 'Оплатить', exact: true }).waitFor()
  await page.goto('/app/billing')
  expect((await paymentsOf(page)).map(({ id }) => id)).toEqual([first?.id])
}, 60_000)

test('a payment that could not be checked shows an error, and a click checks it again', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  await page.getByRole('button', { name: billing.pay }).click()
  await page.getByRole('button', { name: 'Оплатить', exact: true }).waitFor()
  await page.goto('/app/billing')
  const [payment] = await paymentsOf(page)
  for (const status of [500, 409]) {
    const problem = {
      code: status === 409 ? 'conflict' : 'internal',
      title: 'x',
      detail: '',
      request_id: 'x',
    }
    await page.route('**/refresh', (route) =>
      route.fulfill({ status, contentType: 'application/problem+json', json: problem }),
    )
    await page.goto(`/app/billing/return?payment=${payment?.id}`)
    await page.getByRole('heading', { name: billing.returnTitle.failed }).waitFor()
    await expectNoViolations(page)
    await page.unroute('**/refresh')
    await page.getByRole('main').getByRole('button', { name: kit.retry }).click()
    await page.getByRole('heading', { name: billing.returnTitle.pending }).waitFor()
  }
}, 60_000)
