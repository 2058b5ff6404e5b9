import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { expectNoViolations, findColourViolations, findViolations } from './axe.ts'
import { findOverflow } from './page-faults.ts'
import { openBrowser, system } from './visitor.ts'
import { meterOf } from './vitals.ts'

/** They have everything that the other pages consist of; axe takes seconds for each. */
const examined = /\/docs(?:\/(?:api|errors|sdks))?$/

/** Every page of the documentation, in both languages, from the sitemap. */
async function docsAddresses(): Promise<readonly string[]> {
  const text = await (await fetch(`${system.cabinetUrl}/sitemap.xml`)).text()
  const all = [...text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, url = '']) => new URL(url).pathname)
  return all.filter((path) => /^(?:\/en)?\/docs(?:\/|$)/.test(path))
}

const addresses = await docsAddresses()

describe('the documentation', () => {
  test('shows all of its text with JavaScript off, and a link to its other language', async () => {
    const { page } = await openBrowser({}, { javaScriptEnabled: false })
    for (const address of addresses) {
      await page.goto(address)
      expect([address, await page.getByRole('heading', { level: 1 }).count()]).toEqual([address, 1])
      expect((await page.getByRole('article').textContent())?.length).toBeGreaterThan(200)
    }
    await page.goto('/docs/errors#insufficient_balance')
    await page.getByRole('link', { name: 'English' }).click()
    await page.waitForURL('**/en/docs/errors')
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    await page.getByRole('banner').getByRole('link', { name: 'Docs' }).click()
    await page.waitForURL('**/en/docs')
  })

  test.each([
    ['ru', 1280],
    ['en', 320],
  ] as const)(
    'has no violation that axe finds, light or dark, and fits (%s, %i px)',
    async (language, width) => {
      const { page } = await openBrowser({ width, language })
      const faults: string[] = []
      for (const address of addresses.filter((path) => path.startsWith('/en') === (language === 'en'))) {
        await page.emulateMedia({ colorScheme: 'light' })
        await page.goto(address)
        faults.push(...(await findOverflow(page)).map((fault) => `${address}: ${fault}`))
        if (!examined.test(address)) continue
        faults.push(...(await findViolations(page)).map((fault) => `${address}: ${fault}`))
        await page.emulateMedia({ colorScheme: 'dark' })
        faults.push(...(await findColourViolations(page)).map((fault) => `${address}, dark: ${fault}`))
      }
      expect(faults).toEqual([])
    },
    120_000,
  )

  test('is light, and nothing moves when its script has loaded', async () => {
    const { page } = await openBrowser({ width: 390 })
    const meter = await meterOf(page)
    const settle = () => page.getByRole('searchbox').waitFor()
    const { initialScripts, styles, cls } = await meter.open('/docs/errors', settle)
    expect(initialScripts).toBeGreaterThan(0)
    expect(initialScripts).toBeLessThanOrEqual(60_000)
    expect(styles).toBeLessThanOrEqual(15_000)
    expect(cls).toBeLessThanOrEqual(0.05)
  })

  test('keeps the language that a reader chose for the cabinet, and the theme for every page', async () => {
    const { page } = await openBrowser()
    await page.goto('/docs/errors#invalid_value')
    await page.getByRole('link', { name: 'English' }).click()
    await page.waitForURL('**/en/docs/errors#invalid_value')
    await page.getByLabel('Appearance').selectOption('Dark')
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).click()
    await page.waitForURL('**/login*')
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
  })
})

describe('the search of the documentation', () => {
  async function searchFor(page: Page, query: string): Promise<void> {
    await page.getByRole('searchbox').fill(query)
    await page
      .getByRole('search')
      .getByText(/^Найдено: /)
      .waitFor()
  }

  test('finds the meaning of an error code by the keyboard', async () => {
    const { page } = await openBrowser()
    await page.goto('/docs')
    await page.getByRole('searchbox').focus()
    await page.keyboard.type('insufficient_balance')
    await page.getByRole('search').getByRole('link').first().waitFor()
    await expectNoViolations(page)
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('insufficient_balance')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('search').getByRole('link').count()).toBe(0)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/errors#insufficient_balance')
  })

  test('answers a query of 10,000 characters, one with no result, and hostile text', async () => {
    const { page } = await openBrowser({ width: 320 })
    await page.goto('/docs')
    await searchFor(page, `баланс ${'x'.repeat(10_000)}`)
    await searchFor(page, '<img src=x onerror=alert(1)>')
    expect(await page.getByRole('search').getByRole('link').count()).toBe(0)
    await searchFor(page, 'баланс')
    expect(await page.getByRole('search').getByRole('link').count()).toBeGreaterThan(3)
    expect(await findOverflow(page)).toEqual([])
  })
})
