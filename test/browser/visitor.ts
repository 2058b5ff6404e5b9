import { randomBytes } from 'node:crypto'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Cookie,
  chromium,
  type Page,
  type Request,
} from 'playwright-core'
import { afterAll, expect, inject, onTestFinished, vi } from 'vitest'
import type { Standalone } from '../support/standalone.ts'
import { type HttpProxy, startProxy } from './proxy.ts'
import { type Traces, tracesOf } from './traces.ts'

type System = Pick<
  Standalone,
  'baseUrl' | 'cabinetUrl' | 'administrationUrl' | 'mailCatcherUrl' | 'testPaymentsUrl' | 'cabinet'
>

/** The servers of this run, from `npm start --json`. */
export const system: System = JSON.parse(inject('systemReady'))

let browser: Promise<Browser> | undefined
afterAll(async () => (await browser)?.close())

/** A visitor with their own browser and network address, without cookies of other visitors. */
export type Visitor = {
  readonly page: Page
  /**
   * What no visit should cause: console errors (except those of rejected calls), exceptions, policy violations, or
   * calls outside the cabinet and the gateway. The test fails at its end unless the list is empty; a test that causes
   * such a thing on purpose removes it.
   */
  readonly complaints: string[]
  /** Between this browser and all servers. */
  readonly proxy: HttpProxy
  /** The test fails at its end if the secret of a key is anywhere except in the response that created it. */
  readonly traces: Traces
}

type Look = { readonly language?: 'ru' | 'en'; readonly theme?: 'light' | 'dark'; readonly width?: number }

/** Opens a browser, by default 1280 px wide and in Russian; it closes with the test. */
export async function openBrowser(
  { language = 'ru', theme = 'light', width = 1280 }: Look = {},
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  browser ??= chromium.connect(inject('chromiumEndpoint'))
  const proxy = await startProxy()
  const context = await (await browser).newContext({
    baseURL: system.cabinetUrl,
    colorScheme: theme,
    locale: language === 'ru' ? 'ru-RU' : 'en-GB',
    viewport: { width, height: width < 768 ? 844 : 800 },
    proxy: { server: proxy.server, bypass: '<-loopback>' },
    ...options,
  })
  const complaints: string[] = []
  const traces = tracesOf(context, proxy)
  onTestFinished(async () => {
    const leaks = await Promise.all(traces.secrets().map(traces.placesOf))
    await context.close()
    proxy.stop()
    expect(complaints).toEqual([])
    expect(leaks.flat()).toEqual([])
  })
  await listenToComplaints(context, options.baseURL ?? system.cabinetUrl, complaints)
  return { page: await context.newPage(), complaints, proxy, traces }
}

async function listenToComplaints(
  context: BrowserContext,
  cabinetUrl: string,
  complaints: string[],
): Promise<void> {
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) =>
      // biome-ignore lint/suspicious/noConsole: the page reports to the test this way
      console.error(`policy: ${violatedDirective} forbids ${blockedURI} of ${sourceFile}`),
    )
  })
  context.on('console', (line) => {
    const isRefusedCall = line.text().startsWith('Failed to load resource')
    if (line.type() === 'error' && !isRefusedCall) complaints.push(line.text())
  })
  context.on('weberror', (thrown) => complaints.push(String(thrown.error())))
  const ours = new Set([cabinetUrl, system.baseUrl].map((url) => new URL(url).origin))
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    const isCall = protocol.startsWith('http') || protocol.startsWith('ws')
    if (isCall && !ours.has(origin) && !isAtTill(request)) complaints.push(`called ${request.url()}`)
  })
}

/** The payment provider's page: it belongs to another site and may call anything. */
function isAtTill(request: Request): boolean {
  const till = new URL(system.testPaymentsUrl).origin
  const at = request.isNavigationRequest() ? request.url() : request.frame().url()
  return new URL(at, till).origin === till
}

/** At a unique domain: the number of trials per domain is limited. */
export const newEmail = () => `visitor@v-${randomBytes(6).toString('hex')}.example`

export const password = 'correct horse battery'

type Letter = { readonly to: string; readonly subject: string; readonly links: readonly string[] }

/** The link in the newest email to an address, once it arrives. */
export async function linkTo(
  email: string,
  part: 'verify-email' | 'reset' | 'totp-reset' | 'email-change',
): Promise<string> {
  return vi.waitFor(async () => {
    const letters = (await (await fetch(`${system.mailCatcherUrl}.json`)).json()) as readonly Letter[]
    const link = letters.find(({ to }) => to === email)?.links.find((one) => one.includes(part))
    if (link === undefined) throw new Error(`no email to ${email} with a link to ${part}`)
    return link
  })
}

/** Goes the whole way in the browser: registers, reads the email, confirms, and opens the overview. */
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

let ownersCookies: readonly Cookie[] = []

/** Signs the demo's owner in: an organization with keys, a balance and a history. Uses the form once per file. */
export async function signInOwner(page: Page): Promise<void> {
  await page.context().addCookies(ownersCookies)
  if (ownersCookies.length > 0 && (await page.request.get('/api/v1/me')).ok()) {
    await page.goto('/app')
    return
  }
  expect(system.cabinet?.password).toBeTruthy()
  await signIn(page, system.cabinet?.user ?? '', system.cabinet?.password ?? '')
  ownersCookies = (await page.context().cookies()).filter(({ name }) => name.endsWith('_session'))
}

/** Uses the form of the sign-in page and waits for the overview. */
export async function signIn(page: Page, email: string, secret = password): Promise<void> {
  await page.goto('/login')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(secret)
  await page.locator('form [type=submit]').click()
  await page.waitForURL('**/app')
}
