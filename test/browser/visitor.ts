import { randomBytes } from 'node:crypto'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, expect, inject, onTestFinished, vi } from 'vitest'
import type { Standalone } from '../support/standalone.ts'

type System = Pick<Standalone, 'baseUrl' | 'cabinetUrl' | 'mailboxUrl' | 'cabinet'>

/** The system of this run, as `npm start --json` told of it. */
export const system: System = JSON.parse(inject('systemReady'))

let browser: Promise<Browser> | undefined
afterAll(async () => (await browser)?.close())

/** Somebody with a browser of their own: no cookie of anybody else is in it. */
export type Visitor = {
  readonly page: Page
  /** Lines of the console that no visitor should cause; what a refused call writes there is not among them. */
  readonly complaints: readonly string[]
}

type Look = { readonly language?: 'ru' | 'en'; readonly theme?: 'light' | 'dark'; readonly width?: number }

/** Opens a browser, at 1280 px in Russian unless said; it closes with the test. */
export async function openBrowser(
  { language = 'ru', theme = 'light', width = 1280 }: Look = {},
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  browser ??= chromium.connect(inject('chromiumEndpoint'))
  const context = await (await browser).newContext({
    ...{ baseURL: system.cabinetUrl, colorScheme: theme, locale: language === 'ru' ? 'ru-RU' : 'en-GB' },
    viewport: { width, height: width < 768 ? 844 : 800 },
    ...options,
  })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (line) => {
    const isRefusedCall = line.text().startsWith('Failed to load resource')
    if (line.type() === 'error' && !isRefusedCall) complaints.push(line.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, complaints }
}

export const newEmail = () => `visitor-${randomBytes(6).toString('hex')}@example.com`

export const password = 'correct horse battery'

type Letter = { readonly to: string; readonly subject: string; readonly links: readonly string[] }

/** The link of the newest letter to somebody, once it is there. */
export async function linkTo(email: string, part: 'verify-email' | 'reset'): Promise<string> {
  return vi.waitFor(async () => {
    const letters = (await (await fetch(`${system.mailboxUrl}.json`)).json()) as readonly Letter[]
    const link = letters.find(({ to }) => to === email)?.links.find((one) => one.includes(part))
    if (link === undefined) throw new Error(`no letter to ${email} with a link to ${part}`)
    return link
  })
}

/** Goes the whole way by hand: registers, reads the letter, confirms, and is on the overview. */
export async function register(page: Page, email = newEmail()): Promise<string> {
  await page.goto('/register')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(password)
  await page.locator('[name=accept_offer]').check()
  await page.locator('[name=accept_pdn]').check()
  await page.locator('form [type=submit]').click()
  await page.goto(await linkTo(email, 'verify-email'))
  await page.locator('form [type=submit]').click()
  await page.waitForURL('**/app')
  return email
}

/** Signs the demo's owner in: an organization with keys, a balance and a history. */
export async function signInOwner(page: Page): Promise<void> {
  expect(system.cabinet?.password).toBeTruthy()
  await page.goto('/login')
  await page.locator('[name=email]').fill(system.cabinet?.user ?? '')
  await page.locator('[name=password]').fill(system.cabinet?.password ?? '')
  await page.locator('form [type=submit]').click()
  await page.waitForURL('**/app')
}
