import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { afterAll, expect, test, vi } from 'vitest'
import { letTimePass } from '../support/cabinet.ts'
import { expectNoViolations } from './axe.ts'
import { openDatabase } from './signed-in-calls.ts'
import { linkTo, newEmail, openBrowser, password, register, signIn } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

const minuteS = 60
const hourS = 3_600
const next = 'another long phrase'

const submitOf = (page: Page) => page.locator('form [type=submit]')
const headingOf = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 })

/** Requests an email on the open page. @returns the link of the email, different from the one before */
async function askForLetter(
  page: Page,
  email: string,
  part: 'verify-email' | 'reset',
  before?: string,
): Promise<string> {
  await page.locator('[name=email]').fill(email)
  await submitOf(page).click()
  await headingOf(page, 'Проверьте почту').waitFor()
  return vi.waitFor(
    async () => {
      const link = await linkTo(email, part)
      expect(link).not.toBe(before)
      return link
    },
    { timeout: 10_000 },
  )
}

/** The history of this tab, as the Back button sees it. */
async function historyOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page)
  const { entries } = await session.send('Page.getNavigationHistory')
  return entries.map(({ url }) => url).join('\n')
}

test('a password is reset by email: the new one signs in, the old one does not, and every session ends', async () => {
  const { page: elsewhere } = await openBrowser()
  const email = await register(elsewhere)
  const { page } = await openBrowser()
  await page.goto('/login')
  await page.getByRole('link', { name: 'Забыли пароль?' }).click()
  await headingOf(page, 'Восстановление пароля').waitFor()
  await submitOf(page).click()
  await page.getByText('Укажите адрес электронной почты').waitFor()
  await expectNoViolations(page)
  const link = await askForLetter(page, email, 'reset')
  await expectNoViolations(page)

  await page.goto(link) // in the same tab: only the part after # differs
  await headingOf(page, 'Придумайте новый пароль').waitFor()
  await page.locator('[name=password]').fill('short')
  await submitOf(page).click()
  await page.getByText(/Слишком короткий/).waitFor()
  await expectNoViolations(page)
  await page.locator('[name=password]').fill(next)
  await submitOf(page).click()
  await page.waitForURL('**/login')
  await page.getByText('Пароль изменён. Войдите с новым паролем.').first().waitFor()
  expect(await historyOf(page)).not.toContain(new URL(link).hash)
  expect(await page.content()).not.toContain(next)

  await elsewhere.goto('/app')
  await elsewhere.waitForURL('**/login?*')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(password)
  await submitOf(page).click()
  await page.getByRole('alert').getByText('Не удалось войти').waitFor()
  await signIn(page, email, next)
})

test('a used or expired reset link shows an error, and offers another email', async () => {
  const { page: elsewhere } = await openBrowser()
  const email = await register(elsewhere)
  const { page } = await openBrowser()
  const tooLate = async () => {
    await headingOf(page, 'Придумайте новый пароль').waitFor()
    await page.locator('[name=password]').fill(next)
    await submitOf(page).click()
    await page.getByText('Ссылка устарела или уже использована.').waitFor()
    await expectNoViolations(page)
    await letTimePass(pool, email, minuteS)
  }
  await page.goto('/reset')
  const used = await askForLetter(page, email, 'reset')
  await page.goto(used)
  await page.locator('[name=password]').fill(next)
  await submitOf(page).click()
  await page.waitForURL('**/login')

  await page.goto(used)
  await tooLate()
  const expired = await askForLetter(page, email, 'reset', used)
  await letTimePass(pool, email, hourS)
  await page.goto(expired)
  await tooLate()
  await page.goto(await askForLetter(page, email, 'reset', expired))
  await page.locator('[name=password]').fill(`${next} once more`)
  await submitOf(page).click()
  await page.waitForURL('**/login')
  await signIn(page, email, `${next} once more`)
})

test('a confirmation link signs in once; used again it leads to the sign-in, and expired to another email', async () => {
  const { page } = await openBrowser()
  const email = newEmail()
  await page.goto('/register')
  await page.locator('[name=password]').fill(password)
  await page.locator('[name=accept_offer]').check()
  await page.locator('[name=accept_pdn]').check()
  const expired = await askForLetter(page, email, 'verify-email')
  await letTimePass(pool, email, 24 * hourS)
  await page.goto(expired)
  await headingOf(page, 'Подтвердите адрес').waitFor()
  await expectNoViolations(page)
  await submitOf(page).click()
  await page.getByText(/^Ссылка устарела или уже использована\./).waitFor()
  await expectNoViolations(page)

  const link = await askForLetter(page, email, 'verify-email', expired)
  await expectNoViolations(page)
  await page.goto(link) // in the same tab
  await submitOf(page).click()
  await page.waitForURL('**/app')
  expect(await historyOf(page)).not.toContain(new URL(link).hash)

  const { page: another } = await openBrowser()
  await another.goto(link)
  await submitOf(another).click()
  await headingOf(another, 'Адрес подтверждён').waitFor()
  await expectNoViolations(another)
  await another.getByRole('main').getByRole('link', { name: 'Войти' }).click()
  await another.waitForURL('**/login')

  await another.goto('/verify-email')
  await another.getByText('Ссылка неполная.').waitFor()
  await expectNoViolations(another)
})

test('an address is changed once the links to both addresses are opened, and the account’s data are downloaded', async () => {
  const { page, complaints } = await openBrowser()
  const [email, newAddress] = [await register(page), newEmail()]
  await page.goto('/app/settings')
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Скачать данные' }).click(),
  ])
  expect(file.suggestedFilename()).toMatch(/^model-gateway-account-\d{4}-\d\d-\d\d\.json$/)
  expect(JSON.parse(await text(await file.createReadStream()))).toMatchObject({ profile: { email } })

  await page.getByRole('button', { name: 'Сменить адрес' }).click()
  await page.getByLabel('Новый адрес').fill('nothing')
  await page.getByRole('button', { name: 'Сменить адрес' }).click()
  await page.getByText('Введите пароль').waitFor()
  expect(await page.locator('[aria-invalid=true]').count()).toBe(2)
  await expectNoViolations(page)
  await page.getByLabel('Новый адрес').fill(newAddress)
  await page.getByLabel('Текущий пароль').fill('not the password')
  await page.getByRole('button', { name: 'Сменить адрес' }).click()
  await page.getByText('Неверный пароль').waitFor()
  await page.getByLabel('Текущий пароль').fill(password)
  await page.getByRole('button', { name: 'Сменить адрес' }).dblclick()
  await page.getByText(`Адрес сменится на ${newAddress}`).waitFor()
  await expectNoViolations(page)

  await page.goto(await linkTo(newAddress, 'email-change'))
  await page.getByRole('button', { name: 'Подтвердить смену' }).waitFor()
  expect(await page.getByRole('button', { name: 'Отменить смену' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Подтвердить смену' }).click()
  await page.getByText('Осталось открыть ссылку из письма на другой адрес').waitFor()
  await page.goto('/app/settings')
  await page.getByText('Осталось открыть ссылку из письма на нынешний адрес').waitFor()

  const link = await linkTo(email, 'email-change')
  await page.goto(link)
  await page.getByRole('button', { name: 'Отменить смену' }).waitFor()
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Подтвердить смену' }).click()
  await page.getByText('Адрес изменён, все входы завершены').waitFor()
  expect(await historyOf(page)).not.toContain(new URL(link).hash)
  await page.goto('/app')
  await page.waitForURL('**/login?*')
  await signIn(page, newAddress)
  await page.waitForURL('**/app')
  expect(complaints).toEqual([])
})
