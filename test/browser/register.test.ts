import { expect, test } from 'vitest'
import { linkTo, newEmail, openBrowser, password, register, system } from './visitor.ts'

test('a new user registers, confirms by email, and sees the overview with a balance', async () => {
  const { page, complaints } = await openBrowser()
  const email = newEmail()
  await page.goto('/register')
  expect(await page.title()).toBe('Регистрация · Model Gateway')
  await page.getByLabel('Электронная почта').fill(email)
  await page.getByLabel('Новый пароль').fill(password)
  await page.getByLabel('Принимаю условия').check()
  await page.getByLabel('Даю согласие').check()
  await page.getByRole('button', { name: 'Создать аккаунт' }).click()
  await page.getByRole('heading', { name: 'Проверьте почту' }).waitFor()

  await page.goto(await linkTo(email, 'verify-email'))
  await page.getByRole('button', { name: 'Подтвердить адрес' }).click()
  await page.getByRole('heading', { name: 'Обзор', level: 1 }).waitFor()
  await page
    .getByRole('banner')
    .getByText(/\d,\d{2}\s₽/)
    .waitFor()
  expect(page.url()).not.toContain('token')
  expect(complaints).toEqual([])
})

test('each wrong field shows its error, the first one has the focus, and what was typed stays', async () => {
  const { page } = await openBrowser()
  await page.goto('/register')
  await page.getByLabel('Электронная почта').fill('nobody')
  await page.getByLabel('Новый пароль').fill('short')
  await page.getByRole('button', { name: 'Создать аккаунт' }).click()
  const focused = page.locator(':focus')
  expect(await focused.getAttribute('name')).toBe('email')
  expect(await focused.getAttribute('aria-invalid')).toBe('true')
  expect(await page.locator('[aria-invalid=true]').count()).toBe(4)
  const describedBy = await focused.getAttribute('aria-describedby')
  expect(await page.locator(`[id="${describedBy}"]`).textContent()).toMatch(/Проверьте адрес/)
  expect(await page.getByLabel('Новый пароль').inputValue()).toBe('short')
})

test('a page that needs a session is shown again after the sign-in', async () => {
  const { page } = await openBrowser()
  await page.goto('/app/usage?bucket=hour')
  await page.waitForURL('**/login?next=*')
  await page.getByLabel('Электронная почта').fill(system.cabinet?.user ?? '')
  await page.getByLabel('Пароль', { exact: true }).fill(system.cabinet?.password ?? '')
  await page.getByRole('button', { name: 'Войти', exact: true }).click()
  await page.waitForURL('**/app/usage?bucket=hour')
})

test('another language applies at once, without a reload, and on the next page too', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.getByRole('button', { name: 'Профиль и выход' }).click()
  await page.getByRole('button', { name: 'English' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  expect(await page.title()).toBe('Overview · Model Gateway')
  await page.reload()
  expect(await page.locator('html').getAttribute('lang')).toBe('en')
})

test('the button that reveals a password names the field', async () => {
  const { page } = await openBrowser()
  await page.goto('/register')
  await page.locator('[name=password]').fill('correct horse battery')
  await page.getByRole('button', { name: 'Показать новый пароль', exact: true }).click()
  expect(await page.locator('[name=password]').getAttribute('type')).toBe('text')
  await page.getByRole('button', { name: 'Скрыть новый пароль', exact: true }).click()
  expect(await page.locator('[name=password]').getAttribute('type')).toBe('password')
})
