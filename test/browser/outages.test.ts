import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { kitWords } from '#cabinet/pages/kit/messages'
import { aPassword, newEmail } from '../support/cabinet.ts'
import { descendantsOf } from '../support/process-tree.ts'
import { expectNoViolations } from './axe.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { openBrowser } from './visitor.ts'

const words = kitWords.ru

const cabinet = await ownCabinetOfThisFile()
const { url, postgres, pool } = cabinet

async function openSignedIn() {
  const visitor = await cabinet.openSignedIn()
  await balanceOf(visitor.page).waitFor()
  await visitor.page.evaluate(() => Object.assign(window, { isSameDocument: true }))
  return visitor
}

const balanceOf = (page: Page) => page.getByRole('banner').getByText(/\d,\d{2}\s₽/)
const bannerOf = (page: Page, text: string) => page.getByRole('status').getByText(text)
/** To a page and back, so that data is read again. */
async function goRound(page: Page): Promise<void> {
  const links = page.getByRole('navigation').getByRole('link')
  await links.filter({ hasText: 'Ключи' }).click()
  await links.filter({ hasText: 'Обзор' }).click()
}

const isSameDocument = (page: Page) => page.evaluate(() => 'isSameDocument' in window)

test('a stopped Postgres is reported, data stays visible, and the page recovers automatically', async () => {
  const { page } = await openSignedIn()
  await postgres.stop()
  try {
    await goRound(page)
    await bannerOf(page, words.unavailable).waitFor()
    expect(await balanceOf(page).isVisible()).toBe(true)
    await page.getByRole('navigation').getByRole('link', { name: 'Настройки' }).first().click()
    await page.getByRole('main').getByRole('alert').first().getByText(words.unavailable).waitFor()
    await expectNoViolations(page)
  } finally {
    await postgres.start()
  }
  await bannerOf(page, words.unavailable).waitFor({ state: 'detached' })
  await page.getByRole('alert').first().waitFor({ state: 'detached' })
  expect(await isSameDocument(page)).toBe(true)
})

test('a hanging Postgres is reported after 3 s of silence, and the page recovers', async () => {
  const { page } = await openSignedIn()
  const pids = [postgres.pid() ?? 0, ...descendantsOf(postgres.pid()).map(({ pid }) => pid)]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    const asked = performance.now()
    await goRound(page)
    await bannerOf(page, words.slow).waitFor()
    expect(performance.now() - asked).toBeGreaterThan(2_900)
    await expectNoViolations(page)
    await bannerOf(page, words.unavailable).waitFor()
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
  await bannerOf(page, words.unavailable).waitFor({ state: 'detached' })
  await bannerOf(page, words.slow).waitFor({ state: 'detached' })
  expect(await isSameDocument(page)).toBe(true)
})

test('a restart of the web process is reported within 10 s, and the page recovers: live again, without a reload', async () => {
  const { page } = await openSignedIn()
  await cabinet.stopWeb()
  await bannerOf(page, words.unreachable).waitFor({ timeout: 10_000 })
  expect(await balanceOf(page).isVisible()).toBe(true)
  await expectNoViolations(page)
  await cabinet.startWeb()
  const reconnected = page.waitForResponse(
    (response) => new URL(response.url()).pathname.endsWith('/events') && response.ok(),
  )
  await bannerOf(page, words.unreachable).waitFor({ state: 'detached' })
  await reconnected
  expect(await isSameDocument(page)).toBe(true)
})

test('a page not opened before waits for a stopped server: a cached response is no sign of life', async () => {
  const { page, complaints } = await openSignedIn()
  await page.evaluate(() => fetch('/api/v1/config').then((response) => response.text()))
  await cabinet.stopWeb()
  await page.getByRole('navigation').getByRole('link', { name: 'Настройки' }).first().click()
  await page.getByRole('main').getByRole('heading', { level: 1, name: words.unreachable }).waitFor()
  await page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/v1/config'))
  expect(await isSameDocument(page)).toBe(true)
  await cabinet.startWeb()
  await page.getByRole('heading', { level: 1, name: 'Настройки' }).waitFor()
  const rest = complaints.filter((line) => !line.includes('the page could not be loaded'))
  complaints.splice(0, complaints.length, ...rest)
})

test('typed text survives an outage, and is sent once when it is sent again', async () => {
  const { page } = await openBrowser({}, { baseURL: url })
  const email = newEmail()
  await page.goto('/register')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(aPassword)
  await page.locator('[name=accept_offer]').check()
  await page.locator('[name=accept_pdn]').check()
  await cabinet.stopWeb()
  await page.locator('form [type=submit]').click()
  await page.getByRole('alert').getByText(words.unreachable).waitFor()
  expect(await page.locator('[name=email]').inputValue()).toBe(email)
  expect(await page.locator('[name=password]').inputValue()).toBe(aPassword)
  expect(await page.locator('[name=accept_pdn]').isChecked()).toBe(true)
  await cabinet.startWeb()
  await page.locator('form [type=submit]').click()
  await page.getByRole('heading', { name: 'Проверьте почту' }).waitFor()
  const { rows } = await pool.query('select count(*)::int as count from users where email = $1', [email])
  expect(rows).toEqual([{ count: 1 }])
})

test('after a sign-in, an ended session is back at the same address with its filters', async () => {
  const { page, email, userId } = await openSignedIn()
  await page.goto('/app/usage?bucket=hour')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await pool.query('delete from sessions where user_id = $1', [userId])
  await page.waitForURL('**/login?next=*', { timeout: 45_000 })
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(aPassword)
  await page.locator('form [type=submit]').click()
  await page.waitForURL('**/app/usage?bucket=hour')
})

test('a user who tries too often sees how long to wait, and keeps what was typed', async () => {
  // On a known device: all others compute a proof of work instead of waiting.
  const { page, email, userId } = await openSignedIn()
  await pool.query('delete from sessions where user_id = $1', [userId])
  await page.goto('/login')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill('a wrong password')
  const submit = page.locator('form [type=submit]')
  const isThrottled = page.waitForResponse((response) => response.status() === 429)
  for (let tries = 0; tries < 6; tries++) {
    const answered = page.waitForResponse((response) => response.url().endsWith('/auth/login'))
    await submit.click()
    await answered
    await page.locator('form[aria-busy=false]').waitFor()
  }
  await isThrottled
  await page
    .getByRole('alert')
    .getByText(/Повторите через \d+\sсекунд/)
    .waitFor()
  await expectNoViolations(page)
  expect(await page.locator('[name=email]').inputValue()).toBe(email)
})

test('a file is saved under its name, and any failure is reported next to its link', async () => {
  const { page, email, userId } = await openSignedIn()
  await page.goto('/app/requests')
  const link = page.getByRole('link', { name: 'Скачать рассчитанные (CSV)' })
  const alert = page.getByRole('alert')
  const [saved] = await Promise.all([page.waitForEvent('download'), link.click()])
  expect(saved.suggestedFilename()).toBe('requests.csv')
  expect(await text(await saved.createReadStream())).toMatch(/^\ufeff?\w+,/)

  await cabinet.stopWeb()
  await link.click()
  await alert.getByText(words.unreachable).waitFor()
  await cabinet.startWeb()
  await postgres.stop()
  try {
    await link.click()
    await alert.getByText('Сервис временно недоступен').waitFor()
  } finally {
    await postgres.start()
  }

  await pool.query('delete from sessions where user_id = $1', [userId])
  await link.click()
  await page.waitForURL('**/login?next=*')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(aPassword)
  await page.locator('form [type=submit]').click()
  await page.waitForURL('**/app/requests')
  await page.evaluate(async () => {
    for (let times = 0; times < 31; times++) await fetch('/api/v1/requests.csv')
  })
  await link.click()
  await alert.getByText(/Повторите через/).waitFor()
}, 60_000)

test('a skeleton appears after 150 ms, and never if the response is faster', async () => {
  const { page, proxy } = await openSignedIn()
  await page.addInitScript(() => {
    const seen: { since?: number; shown?: number } = {}
    const look = () => {
      requestAnimationFrame(look)
      const skeleton = document.querySelector('main .after-a-moment')
      if (skeleton !== null) {
        seen.since ??= performance.now()
        if (Number(getComputedStyle(skeleton).opacity) > 0) seen.shown ??= performance.now()
      }
    }
    look()
    Object.assign(window, { skeletonSeen: seen })
  })
  proxy.delay(({ pathname }) => pathname === '/api/v1/overview', 1_000)
  await page.goto('/app')
  await page.locator('main .after-a-moment').first().waitFor()
  await page.locator('main .after-a-moment').first().waitFor({ state: 'detached' })
  const seen = await page.evaluate(
    () => (window as unknown as { skeletonSeen: { since: number; shown: number } }).skeletonSeen,
  )
  expect(seen.shown - seen.since).toBeGreaterThanOrEqual(140)
  expect(seen.shown - seen.since).toBeLessThan(600)
})
