import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { billingWords } from '#cabinet/ui/words/billing'
import { shellWords } from '#cabinet/ui/words/shell'
import { openBrowser, register, signInOwner } from './visitor.ts'

const shell = shellWords.ru
const billing = billingWords.ru

async function chooseEnglish(page: Page): Promise<void> {
  await page.getByRole('button', { name: shell.userMenu }).click()
  await page.getByRole('button', { name: 'English' }).click()
  await page.getByRole('button', { name: shellWords.en.logout, exact: true }).waitFor()
}

test('another language says the errors beside fields in it too', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  await page.getByLabel('Сумма', { exact: true }).fill('')
  await page.getByRole('button', { name: billing.pay }).click()
  await page.locator('[name=amount_rub][aria-invalid]').waitFor()
  const error = () =>
    page
      .locator('[name=amount_rub]')
      .evaluate(
        (field) =>
          document.getElementById(field.getAttribute('aria-describedby')?.split(' ').at(-1) ?? '')
            ?.textContent,
      )
  expect(await error()).toMatch(/[а-я]/i)
  await chooseEnglish(page)
  expect(await error()).toMatch(/^[^а-я]+$/i)
}, 60_000)

test('another language leaves the name of what a page is about in the title of its tab', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  await page.goto('/app/keys')
  const link = page.getByRole('main').getByRole('table').getByRole('link').first()
  const name = (await link.textContent()) ?? ''
  await link.click()
  await page.waitForFunction((part) => document.title.includes(part), name)
  await chooseEnglish(page)
  expect(await page.title()).toContain(name)
  const isKept = page.waitForResponse((response) => response.url().endsWith('/api/v1/me') && response.ok())
  await page.getByRole('button', { name: 'Русский' }).click() // letters to the owner are read by other tests
  await isKept
}, 60_000)
