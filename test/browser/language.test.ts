import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { shellWords } from '#cabinet/pages/app/messages'
import { billingWords } from '#cabinet/pages/features/billing/messages'
import { openBrowser, register, signInOwner } from './visitor.ts'

const shell = shellWords.ru
const billing = billingWords.ru

async function chooseEnglish(page: Page): Promise<void> {
  await page.getByRole('button', { name: shell.userMenu }).click()
  await page.getByRole('button', { name: 'English' }).click()
  await page.getByRole('button', { name: shellWords.en.logout, exact: true }).waitFor()
}

test('a change of language also translates errors at fields', async () => {
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

test("a change of language keeps the name of a page's subject in the tab's title", async () => {
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
  await page.getByRole('button', { name: 'Русский' }).click() // other tests read emails to the owner
  await isKept
}, 60_000)
