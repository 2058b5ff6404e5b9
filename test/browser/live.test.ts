import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { inTestScope } from '../support/scope.ts'
import { settle, visit } from './addresses.ts'
import { openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register, system } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

/** A page polls every 5 s while it hears no stream; the rest is for a busy machine. */
const polledMs = 10_000
/** Longer than a page waits for a silent stream. */
const silenceMs = 36_000

const isEvents = (url: URL | string) => new URL(url).pathname === '/api/v1/events'
const streamTo = (page: Page) => page.waitForResponse((answer) => isEvents(answer.url()) && answer.ok())

/** A new user on the page of keys, connected to the stream of events. */
async function openLive() {
  const { page, proxy } = await openBrowser()
  await page.clock.install()
  await register(page)
  const opened = streamTo(page)
  await page.goto('/app/keys')
  await opened
  await settle(page)
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  return { page, proxy, organizationId: me.organization.id }
}

/** Like a payment or an administrator's change: the page takes no part in it. */
async function give(organizationId: string, rubles: bigint): Promise<void> {
  const amount = nanoRub(rubles * 1_000_000_000n)
  const credited = { organizationId, kind: 'adjustment', refId: randomUUID(), amount } as const
  await inTestScope(pool, (client) => credit(client, credited))
}

/** An action of the same user elsewhere. */
async function post(page: Page, path: string, data: object): Promise<void> {
  const headers = { 'idempotency-key': randomUUID(), origin: system.cabinetUrl }
  expect((await page.request.post(`/api/v1${path}`, { data, headers })).status()).toBe(201)
}

const balanceOf = (page: Page) => page.getByRole('banner').locator('data').getAttribute('value')

async function seesBalance(page: Page, change: () => Promise<void>): Promise<void> {
  const before = await balanceOf(page)
  await change()
  await expect.poll(() => balanceOf(page), { timeout: polledMs }).not.toBe(before)
}

for (const [how, state] of [
  ['cut', 'cut'],
  ['hold', 'held back by something in between'],
] as const)
  test(`balance, keys and payments are current within 10 s though the stream of events is ${state}, and it reconnects`, async () => {
    const { page, proxy, organizationId } = await openLive()
    const untilMissed = () => (how === 'hold' ? page.clock.fastForward(silenceMs) : undefined)
    proxy.interrupt(isEvents, how)
    await untilMissed()
    await seesBalance(page, () => give(organizationId, 100n))
    const name = `elsewhere ${randomUUID()}`
    await post(page, '/keys', { name })
    await page.getByRole('link', { name }).waitFor({ timeout: polledMs })
    await visit(page, '/app/billing/payments')
    await post(page, '/payments', { amount_rub: '321' })
    await page
      .getByRole('table', { name: 'Платежи' })
      .getByText(/321,00/)
      .waitFor({ timeout: polledMs })

    const takenUp = streamTo(page)
    proxy.mend()
    await untilMissed()
    await takenUp
    await seesBalance(page, () => give(organizationId, 1n))
    const asked = countOf(page, '/api/v1/balance')
    await passTime(page, 4_000) // reads that were in progress are repeated
    const before = asked()
    await passTime(page, 6_000)
    expect(asked()).toBe(before)
  })

test('a hidden tab holds no stream and polls nothing, and catches up once it is visible', async () => {
  const { page, organizationId } = await openLive()
  const closed = page.waitForEvent('requestfailed', (request) => isEvents(request.url()))
  await setSeen(page, false)
  await closed
  const asked = countOf(page, '/api/v1/balance')
  const before = await balanceOf(page)
  await give(organizationId, 100n)
  await passTime(page, 60_000)
  expect([asked(), await balanceOf(page)]).toEqual([0, before])

  const opened = streamTo(page)
  await setSeen(page, true)
  await opened
  await expect.poll(() => balanceOf(page), { timeout: 3_000 }).not.toBe(before)
})

test('usage and keys are read again once the day ends by the server’s clock, and not before', async () => {
  const { page } = await openBrowser()
  await page.clock.install()
  await register(page)
  const dayMs = 86_400_000
  const moscowMs = 3 * 3_600_000
  const leftMs = 15_000
  let aheadMs = 0
  // Also where the test fails: a request that is still held would reject after its page has closed.
  onTestFinished(() => page.unrouteAll({ behavior: 'ignoreErrors' }))
  await page.route(/\/api\/v1\/(?!events)/, async (route) => {
    const response = await route.fetch()
    const date = new Date(Date.now() + aheadMs).toUTCString()
    await route.fulfill({ response, headers: { ...response.headers(), date } })
  })
  for (const [address, path] of [
    ['/app/usage', '/api/v1/overview'],
    ['/app/keys', '/api/v1/keys'],
  ] as const) {
    aheadMs = dayMs - ((Date.now() + moscowMs) % dayMs) - leftMs
    const opened = streamTo(page)
    await page.goto(address)
    await opened
    await settle(page)
    await passTime(page, 4_000) // the beginning of a stream repeats reads
    const asked = countOf(page, path)
    await passTime(page, 1_000)
    expect([address, asked()]).toEqual([address, 0])
    await passTime(page, leftMs + 6_000)
    await expect.poll(asked).toBeGreaterThan(0)
  }
})

function countOf(page: Page, path: string): () => number {
  let count = 0
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith(path)) count++
  })
  return () => count
}

/** Advances the page's clock, then waits until all calls made by then have their response. */
async function passTime(page: Page, ms: number): Promise<void> {
  await page.clock.fastForward(ms)
  await page.evaluate(() => fetch('/api/v1/config').then((answer) => answer.text()))
}

/** A headless browser treats every tab as visible. */
function setSeen(page: Page, isSeen: boolean): Promise<void> {
  return page.evaluate((seen) => {
    Object.defineProperty(document, 'hidden', { value: !seen, configurable: true })
    const state = seen ? 'visible' : 'hidden'
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  }, isSeen)
}
