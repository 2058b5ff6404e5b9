import { expect, test } from 'vitest'
import { openBrowser, register } from './visitor.ts'

test('once somebody else signs in within another tab, a tab begins anew as theirs', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  await page.getByLabel('Порог').fill('77')
  const other = await page.context().newPage()
  await page.context().clearCookies()
  const email = await register(other)
  await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
  await page.getByText(email).first().waitFor({ state: 'attached', timeout: 15_000 })
  expect(await page.getByLabel('Порог').inputValue()).toBe('')
})
