import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { inheritedEnvironment } from '../support/environment.ts'
import { type Hand, keyboard, mouse, touch } from './hand.ts'
import { callFrom } from './signed-in-calls.ts'
import { linkTo, newEmail, openBrowser, password, system } from './visitor.ts'

const ways = [
  { name: 'in Russian', language: 'ru', hand: mouse, width: 1280 },
  { name: 'in English', language: 'en', hand: mouse, width: 1280 },
  { name: 'by the keyboard alone', language: 'en', hand: keyboard, width: 1280 },
  { name: 'at 390 px by touch', language: 'ru', hand: touch, width: 390 },
] as const

const dictionary = {
  ru: {
    register: 'Создать аккаунт',
    letter: 'Проверьте почту',
    overview: 'Обзор',
    keys: 'Ключи',
    newKey: 'Создать ключ',
    create: 'Создать ключ',
    copyAndClose: 'Скопировать и закрыть',
    pay: 'Перейти к оплате',
    credited: 'Баланс пополнен',
    ledger: 'История баланса',
    refund: 'Возврат платежа',
    refunded: 'Платёж возвращён',
  },
  en: {
    register: 'Create the account',
    letter: 'Check your email',
    overview: 'Overview',
    keys: 'Keys',
    newKey: 'Create a key',
    create: 'Create the key',
    copyAndClose: 'Copy and close',
    pay: 'Continue to payment',
    credited: 'Your balance is topped up',
    ledger: 'Balance history',
    refund: 'Payment refund',
    refunded: 'The payment was refunded',
  },
} as const

type Language = (typeof ways)[number]['language']

for (const { name, language, hand, width } of ways)
  test(`from the first page to a refund: ${name}`, async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page: first, traces } = await openBrowser(
      { language, width },
      { permissions, hasTouch: hand === touch },
    )
    const page = await registerAndConfirm(first, language, hand)

    const secret = await makeKey(page, language, hand)
    await hand.press(page.locator('nav a[href="/app"]:visible'))
    await page.locator('[data-step=request][data-done=false]').waitFor()
    expect(await streamOnce(secret)).toBe('one two three')
    await page.locator('[data-step=request][data-done=true]').waitFor({ timeout: 5_000 })

    await payAndRefund(page, language, hand)
    for (const address of ['/app/usage', '/app/requests']) {
      await hand.press(page.locator(`nav a[href="${address}"]:visible`))
      await readFile(page)
    }
    await hand.press(page.getByRole('banner').locator('a[href="/app/billing"]'))
    await hand.press(page.getByRole('main').locator('a[href="/app/billing/history"]'))
    await readFile(page)
    expect(traces.secrets()).toEqual([secret])
    expect(await traces.placesOf(secret)).toEqual([])
  }, 150_000)

/** From a given address, using only what is visible. @returns the tab of the signed-in user */
async function registerAndConfirm(page: Page, language: Language, hand: Hand): Promise<Page> {
  const words = dictionary[language]
  const email = newEmail()
  await page.goto('/')
  await hand.press(page.getByRole('main').locator('a[href="/register"]').first())
  await hand.type(page.locator('[name=email]'), email)
  await hand.type(page.locator('[name=password]'), password)
  await hand.press(page.locator('[name=accept_offer]'))
  await hand.press(page.locator('[name=accept_pdn]'))
  await hand.press(page.getByRole('button', { name: words.register }))
  await page.getByRole('heading', { name: words.letter }).waitFor()
  const mail = await openMail(page, email)
  await hand.press(mail.getByRole('article').filter({ hasText: email }).getByRole('link').first())
  await hand.press(mail.locator('form [type=submit]'))
  await mail.getByRole('heading', { name: words.overview, level: 1 }).waitFor()
  await page.close()
  return mail
}

/** The mail catcher in another tab. @returns that tab, once the email is there */
async function openMail(page: Page, email: string): Promise<Page> {
  const mail = await page.context().newPage()
  await linkTo(email, 'verify-email')
  await mail.goto(system.mailCatcherUrl)
  return mail
}

/** The file that a page offers, as its link downloads it. */
async function readFile(page: Page): Promise<void> {
  const href = await page.locator('main a[download]').first().getAttribute('href')
  const { status, text } = await callFrom(page, 'GET', (href ?? '').replace('/api/v1', ''))
  expect([status, text.split('\r\n').length > 1]).toEqual([200, true])
}

/** @returns what the page put into the clipboard. */
async function makeKey(page: Page, language: Language, hand: Hand): Promise<string> {
  const words = dictionary[language]
  await hand.press(page.locator('nav a[href="/app/keys"]:visible'))
  await page.getByRole('heading', { name: words.keys, level: 1 }).waitFor()
  await hand.press(
    page
      .getByRole('link', { name: words.newKey })
      .or(page.getByRole('button', { name: words.newKey }))
      .first(),
  )
  const dialog = page.getByRole('dialog')
  await hand.type(dialog.locator('[name=name]'), 'Journey')
  await hand.press(dialog.getByRole('button', { name: words.create }))
  await hand.press(dialog.getByRole('button', { name: words.copyAndClose }))
  await dialog.waitFor({ state: 'detached' })
  return page.evaluate(() => navigator.clipboard.readText())
}

/** The official SDK in a separate process. */
async function streamOnce(secret: string): Promise<string> {
  const env = { ...inheritedEnvironment, BASE_URL: system.baseUrl, API_KEY: secret, MODEL: 'demo/echo' }
  const program = join(import.meta.dirname, 'stream-once.ts')
  return (await promisify(execFile)(process.execPath, [program], { env })).stdout
}

async function payAndRefund(page: Page, language: Language, hand: Hand): Promise<void> {
  const words = dictionary[language]
  await hand.press(page.getByRole('banner').locator('a[href="/app/billing"]'))
  await hand.type(page.locator('[name=amount_rub]'), '1000')
  await hand.press(page.getByRole('button', { name: words.pay }))
  const pay = page.getByRole('button', { name: 'Оплатить, но потерять уведомление' })
  await pay.waitFor()
  const till = page.url()
  await hand.press(pay)
  const paidAt = performance.now()
  await page.waitForURL(/\/app\/billing\/return\?payment=/)
  await page.getByRole('heading', { name: words.credited }).waitFor()
  expect(performance.now() - paidAt).toBeLessThan(10_000)

  await refundAt(till, page)
  await page.getByRole('heading', { name: words.refunded }).waitFor()
  await hand.press(page.getByRole('main').locator('a[href="/app/billing"]').first())
  await hand.press(page.getByRole('main').locator('a[href="/app/billing/history"]'))
  await page.getByRole('rowheader', { name: words.refund }).waitFor()
  const answer = await page.request.get('/api/v1/ledger?limit=50')
  const { data } = (await answer.json()) as { data: readonly Readonly<Record<string, string>>[] }
  const booked = data
    .filter(({ kind }) => kind !== 'charge')
    .map(({ kind, amount_rub }) => `${kind} ${amount_rub}`)
  expect(booked.toReversed()).toEqual([
    'trial 30',
    'top_up 1000',
    'welcome 150',
    'refund -1000',
    'bonus_reversal -150',
  ])
  const afterLast = await page
    .getByRole('region', { name: words.ledger })
    .getByRole('row')
    .nth(1)
    .locator('data')
    .last()
    .getAttribute('value')
  expect(afterLast).toBe(data[0]?.balance_after_rub)
}

/** The shop refunds on its own page; the customer's page receives a hint. */
async function refundAt(till: string, customers: Page): Promise<void> {
  const shop = await customers.context().newPage()
  await shop.goto(till)
  await Promise.all([
    shop.waitForEvent('framenavigated'),
    shop.getByRole('button', { name: 'Вернуть', exact: true }).click(),
  ])
  await shop.waitForLoadState()
  await shop.close()
}
