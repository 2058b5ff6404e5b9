import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { kitWords } from '#cabinet/ui/words/kit'
import { shellWords } from '#cabinet/ui/words/shell'
import { expectNoViolations } from './axe.ts'
import { openBrowser, register, signInOwner } from './visitor.ts'

const kit = kitWords.ru
const shell = shellWords.ru

const openSettings = (page: Page) =>
  page.getByRole('navigation').getByRole('link', { name: shell.settings }).first().click()
const settings = (page: Page) => page.getByRole('heading', { level: 1, name: shell.settings })

async function openOverview() {
  const visitor = await openBrowser()
  await signInOwner(visitor.page)
  await visitor.page.getByRole('heading', { level: 1 }).waitFor()
  return visitor
}

/** What is thrown where a page is not loaded; React writes it down. */
function forgetFailedImports(complaints: string[]): void {
  const rest = complaints.filter((line) => !line.includes('the page could not be loaded'))
  complaints.splice(0, complaints.length, ...rest)
}

/** How many documents it opens from now on. */
function countDocuments(page: Page): { count: number } {
  const opened = { count: 0 }
  page.on('request', (request) => {
    if (request.isNavigationRequest()) opened.count++
  })
  return opened
}

test('a page that no network could load says so, and opens by itself once there is one', async () => {
  const { page, complaints } = await openOverview()
  await page.context().setOffline(true)
  await openSettings(page)
  const main = page.getByRole('main')
  await main.getByRole('heading', { level: 1, name: kit.unreachable }).waitFor()
  await main.getByRole('button', { name: kit.retry }).waitFor()
  await expectNoViolations(page)
  await page.context().setOffline(false)
  await settings(page).waitFor()
  forgetFailedImports(complaints)
}, 60_000)

test('a page whose file a deploy has taken away is loaded with a new document', async () => {
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

test('a page whose file stays away begins anew once, and then says so until it is there', async () => {
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

test('a sign-out that no server has heard says so where it was asked for, and works at the next press', async () => {
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
