import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { inheritedEnvironment } from '../support/environment.ts'
import { type Hand, keyboard, mouse, touch } from './hand.ts'
import { linkTo, newEmail, openBrowser, password, system } from './visitor.ts'

const ways = [
  { name: 'in Russian', language: 'ru', hand: mouse, width: 1280 },
  { name: 'in English', language: 'en', hand: mouse, width: 1280 },
  { name: 'by the keyboard alone', language: 'en', hand: keyboard, width: 1280 },
  { name: 'at 390 px by touch', language: 'ru', hand: touch, width: 390 },
] as const

const dictionary = {
  ru: {
    ...{
      register: 'Создать аккаунт',
      letter: 'Проверьте почту',
      overview: 'Обзор',
      keys: 'Ключи',
      newKey: 'Создать ключ',
    },
    ...{
      create: 'Создать ключ',
      copyAndClose: 'Скопировать и закрыть',
      pay: 'Перейти к оплате',
      credited: 'Баланс пополнен',
    },
    ...{ ledger: 'История баланса', refund: 'Возврат платежа' },
  },
  en: {
    ...{
      register: 'Create the account',
      letter: 'Check your mail',
      overview: 'Overview',
      keys: 'Keys',
      newKey: 'Create a key',
    },
    ...{
      create: 'Create the key',
      copyAndClose: 'Copy and close',
      pay: 'Continue to payment',
      credited: 'Your balance is topped up',
    },
    ...{ ledger: 'Balance history', refund: 'Refund of a payment' },
  },
} as const

type Language = (typeof ways)[number]['language']

for (const { name, language, hand, width } of ways)
  test(`from the first page to a refund: ${name}`, async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page, traces } = await openBrowser({ language, width }, { permissions, hasTouch: hand === touch })
    await registerAndConfirm(page, language, hand)

    const secret = await makeKey(page, language, hand)
    await hand.press(page.locator('nav a[href="/app"]:visible'))
    await page.locator('[data-step=request][data-done=false]').waitFor()
    expect(await streamOnce(secret)).toBe('one two three')
    await page.locator('[data-step=request][data-done=true]').waitFor({ timeout: 5_000 })

    await payAndRefund(page, language, hand)
    expect(traces.secrets()).toEqual([secret])
    expect(await traces.placesOf(secret)).toEqual([])
  }, 120_000)

async function registerAndConfirm(page: Page, language: Language, hand: Hand): Promise<void> {
  const words = dictionary[language]
  const email = newEmail()
  await page.goto('/register')
  await hand.type(page.locator('[name=email]'), email)
  await hand.type(page.locator('[name=password]'), password)
  await hand.press(page.locator('[name=accept_offer]'))
  await hand.press(page.locator('[name=accept_pdn]'))
  await hand.press(page.getByRole('button', { name: words.register }))
  await page.getByRole('heading', { name: words.letter }).waitFor()
  await page.goto(await linkTo(email, 'verify-email'))
  await hand.press(page.locator('form [type=submit]'))
  await page.getByRole('heading', { name: words.overview, level: 1 }).waitFor()
}

/** @returns what the page has put into the clipboard. */
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

/** The official SDK in a process of its own. */
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

  await page.goto(till)
  await Promise.all([
    page.waitForEvent('framenavigated'),
    hand.press(page.getByRole('button', { name: 'Вернуть', exact: true })),
  ])
  await page.waitForLoadState()
  await page.goto('/app/billing')
  await page.getByRole('rowheader', { name: words.refund }).waitFor()
  const answer = await page.request.get('/api/v1/ledger?limit=50')
  const { data } = (await answer.json()) as { data: readonly Readonly<Record<string, string>>[] }
  const booked = data
    .filter(({ kind }) => kind !== 'charge')
    .map(({ kind, amount_rub }) => `${kind} ${amount_rub}`)
  expect(booked.toReversed()).toEqual([
    ...['trial 30', 'top_up 1000', 'welcome 150', 'refund -1000', 'bonus_reversal -150'],
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
