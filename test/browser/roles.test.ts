import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectNoViolations } from './axe.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { callFrom } from './signed-in-calls.ts'

const cabinet = await ownCabinetOfThisFile()

type Role = 'owner' | 'developer' | 'accountant'

/** A new user with one key, created as owner. `become`: their role from now on. */
async function openMember() {
  const visitor = await cabinet.openSignedIn()
  const { text } = await callFrom(visitor.page, 'POST', '/keys', { name: 'Ключ команды' })
  const become = async (role: Role) => {
    await cabinet.pool.query('update memberships set role = $2 where user_id = $1', [visitor.userId, role])
  }
  return { ...visitor, keyPath: `/app/keys/${JSON.parse(text).key.id}`, become }
}

async function open(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.locator('.after-a-moment, [aria-busy=true]').first().waitFor({ state: 'detached' })
}

/** The actions that a page offers, by name. */
const offersOf = (page: Page) =>
  page.getByRole('main').locator('button, a').filter({ visible: true }).allTextContents()

const idShown = /Номер запроса: [\da-f]{8}-[\da-f-]{27}/

test('a developer sees keys and usage, but no money and no link to it', async () => {
  const { page, keyPath, become } = await openMember()
  await become('developer')
  await open(page, '/app')
  await expect.poll(() => page.locator('a[href^="/app/billing"]').count()).toBe(0)
  expect(await page.getByRole('banner').locator('data').count()).toBe(0)
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await offersOf(page)).toContain('Создать ключ')
  await open(page, keyPath)
  expect(await offersOf(page)).toEqual(expect.arrayContaining(['Заблокировать', 'Отозвать ключ']))

  await open(page, '/app/billing')
  const alert = page.getByRole('alert')
  await alert.getByText('У вас нет доступа к этому разделу').waitFor()
  await alert.getByText('Доступ может дать владелец организации.').waitFor()
  expect(await alert.textContent()).toMatch(idShown)
  expect(await alert.getByRole('button', { name: 'Повторить' }).count()).toBe(0)
  await expectNoViolations(page)
})

test('an accountant sees money and usage, but no keys and no link to them', async () => {
  const { page, keyPath, become } = await openMember()
  await become('accountant')
  await open(page, '/app')
  await expect.poll(() => page.locator('a[href^="/app/keys"]').count()).toBe(0)
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await page.getByRole('navigation').locator('a[href="/app/playground"]').count()).toBe(0)
  expect(await page.getByRole('navigation').locator('a[href="/app/billing"]').count()).toBeGreaterThan(0)
  for (const address of ['/app/keys', keyPath]) {
    await open(page, address)
    await page.getByRole('alert').getByText('У вас нет доступа к этому разделу').waitFor()
    expect(await page.getByRole('main').textContent()).not.toContain('Ключ команды')
  }
  await open(page, '/app/requests')
  await expect.poll(() => page.locator('[name=key_id]').count()).toBe(0)
  expect(await page.getByRole('alert').count()).toBe(0)

  await open(page, '/app/billing')
  await page.getByRole('heading', { name: 'Письмо о низком балансе' }).waitFor()
  await expect.poll(() => page.locator('[name=low_balance_threshold_rub]').count()).toBe(0)
  await expectNoViolations(page)
  await open(page, '/app/playground')
  await page.getByRole('alert').getByText('У вас нет доступа к этому разделу').waitFor()
  await expectNoViolations(page)
  await open(page, '/app/connect')
  expect(await page.locator('a[href^="/app/keys"], a[href="/app/connect"]').count()).toBe(0)
  await expectNoViolations(page)
  await open(page, '/app/keys?new')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
})

test('a user who loses a permission while a page is open sees the error where they click, with the request id', async () => {
  const { page, keyPath, become } = await openMember()
  await open(page, keyPath)
  await page.locator('[name=rpm]').fill('7')
  await become('accountant')
  for (const name of ['Заблокировать', 'Сохранить']) {
    await page.getByRole('main').getByRole('button', { name, exact: true }).click()
    const alert = page.getByRole('alert').filter({ hasText: 'Нет доступа' }).first()
    await alert.waitFor()
    expect(await alert.textContent()).toMatch(idShown)
  }
  expect(await page.locator('[name=rpm]').inputValue()).toBe('7')
})

test('a user with an unconfirmed address sees a message instead of a button that would be rejected', async () => {
  const { page, userId } = await cabinet.openSignedIn()
  await cabinet.pool.query('update users set email_confirmed_at = null where id = $1', [userId])
  for (const address of ['/app/keys', '/app/playground']) {
    await open(page, address)
    await page.getByRole('main').getByText('Сначала подтвердите адрес почты').waitFor()
    expect(await offersOf(page)).not.toContain('Создать ключ')
    await expectNoViolations(page)
  }
})

test('a missing resource and a rate limit have their own messages, with the request id', async () => {
  const { page } = await cabinet.openSignedIn()
  await open(page, `/app/keys/${randomUUID()}`)
  const alert = page.getByRole('main').getByRole('alert').first()
  await alert.getByText('Не найдено').waitFor()
  expect(await alert.textContent()).toMatch(idShown)
  await expectNoViolations(page)

  await page.evaluate(async () => {
    for (let calls = 0; calls < 600; calls += 20)
      await Promise.all(Array.from({ length: 20 }, () => fetch('/api/v1/me').then((answer) => answer.text())))
  })
  await page.goto('/app/requests')
  await alert.getByText('Слишком много запросов').waitFor()
  await alert.getByText(/Повторите через \d+\sсекунд/).waitFor()
  expect(await alert.textContent()).toMatch(idShown)
  expect(await alert.getByRole('button', { name: 'Повторить' }).isVisible()).toBe(true)
  await expectNoViolations(page)
}, 120_000)
