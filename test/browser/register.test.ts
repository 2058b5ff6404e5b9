import { expect, test } from 'vitest'
import { linkTo, newEmail, openBrowser, password } from './visitor.ts'

test('who registers confirms by the letter, and sees the overview with a balance', async () => {
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

test('each wrong field has its error, the first one the focus, and what was typed stays', async () => {
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

test('a page that asks for a session comes back to itself after the sign-in', async () => {
  const { page } = await openBrowser()
  await page.goto('/app/usage?bucket=hour')
  await page.waitForURL('**/login?next=*')
  const { searchParams } = new URL(page.url())
  expect(searchParams.get('next')).toBe('/app/usage?bucket=hour')
})
