import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { lettersTo } from '../support/cabinet.ts'
import { expectNoViolations } from './axe.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'

const cabinet = await ownCabinetOfThisFile()

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** A heading of the page's content. */
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })

/** What the guest's tab shows as its organization. */
const organizationIn = (page: Page) =>
  page.getByRole('banner').getByRole('button', { name: /^Организация: / })

/** The status of a page's call, as the tab sends it. */
async function statusFrom(page: Page, path: string, organizationId: string): Promise<number> {
  return page.evaluate(
    `fetch(${JSON.stringify(`/api/v1${path}`)}, { headers: { 'organization-id': ${JSON.stringify(organizationId)} } })
       .then((response) => response.status)`,
  )
}

/** Two users with separate browsers, and a guest who has accepted the owner's invitation. */
async function openOwnerAndMember() {
  const [owner, guest] = [await cabinet.openSignedIn(), await cabinet.openSignedIn()]
  await cabinet.pool.query('update organizations set display_name = $2 where id = $1', [
    owner.organizationId,
    'Ромашка',
  ])
  await owner.page.goto('/app/team')
  await owner.page.getByLabel('Адрес почты').fill(guest.email)
  await button(owner.page, 'Пригласить').click()
  await owner.page.getByText(`Приглашение отправлено: ${guest.email}`).first().waitFor()
  const letter = (await lettersTo(cabinet.pool, guest.email)).findLast(({ kind }) => kind === 'invitation')
  return { owner, guest, link: new URL(letter?.vars.link ?? '').pathname }
}

test('an owner invites a colleague by email, who accepts in another browser, sees no money, and is removed', async () => {
  const { owner, guest, link } = await openOwnerAndMember()
  await expectNoViolations(owner.page)
  await guest.page.goto('/app')
  await guest.page.getByRole('link', { name: 'Ответить на приглашение' }).waitFor()
  await guest.page.goto(link)
  await guest.page.getByText(`Вас приглашает ${owner.email}. Ваша роль: разработчик.`).waitFor()
  await expectNoViolations(guest.page)
  await button(guest.page, 'Принять').click()
  await organizationIn(guest.page).getByText('Ромашка').waitFor()

  expect(await guest.page.locator('a[href^="/app/billing"]').count()).toBe(0)
  expect(await statusFrom(guest.page, '/keys', owner.organizationId)).toBe(200)
  expect(await statusFrom(guest.page, '/balance', owner.organizationId)).toBe(403)
  await guest.page.goto('/app/team')
  await heading(guest.page, 'Участники').waitFor()
  await organizationIn(guest.page).getByText('Ромашка').waitFor()
  expect(await heading(guest.page, 'Приглашения').count()).toBe(0)
  expect(await guest.page.getByRole('button', { name: /^Исключить/ }).count()).toBe(0)
  await expectNoViolations(guest.page)

  await owner.page.reload()
  await owner.page.getByRole('button', { name: `Изменить: ${guest.email}` }).click()
  await owner.page.getByRole('dialog').getByLabel('Роль').selectOption('accountant')
  await owner.page.getByRole('dialog').getByLabel('Сколько ключей может создать').fill('3')
  const budget = owner.page.getByRole('dialog').getByLabel('Бюджет ключей участника на месяц')
  await budget.fill('0')
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Сохранить' }).click()
  await owner.page.getByText('Введите сумму в рублях больше нуля').waitFor()
  await budget.fill('1 500,50')
  await expectNoViolations(owner.page)
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Сохранить' }).click()
  await owner.page.getByText('0 / 3').waitFor()
  await owner.page.getByText(/1.500,50.₽/).waitFor()
  await owner.page.getByText('Изменения сохранены').first().waitFor()
  expect(await statusFrom(guest.page, '/keys', owner.organizationId)).toBe(403)
  expect(await statusFrom(guest.page, '/balance', owner.organizationId)).toBe(200)

  await owner.page.getByRole('button', { name: `Исключить: ${guest.email}` }).click()
  await expectNoViolations(owner.page)
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Исключить' }).click()
  await owner.page.getByText('Участник исключён').first().waitFor()
  for (const path of ['/keys', '/balance', '/members', '/organization'])
    expect(await statusFrom(guest.page, path, owner.organizationId)).toBe(403)
  // Its event stream ends, and the open page shows why.
  await heading(guest.page, 'Вы больше не участник этой организации').waitFor()
  await expectNoViolations(guest.page)
  await guest.page.getByRole('main').getByRole('button').click()
  await heading(guest.page, 'Обзор').waitFor()
  await guest.page.locator('a[href="/app/billing"]').first().waitFor()
}, 120_000)

test('an invitation is revoked, and its link then explains why it is not valid', async () => {
  const { owner, guest, link } = await openOwnerAndMember()
  await owner.page.getByLabel('Адрес почты').fill(guest.email)
  await button(owner.page, 'Пригласить').click()
  await owner.page.getByText('На этот адрес уже отправлено приглашение').waitFor()
  await owner.page.getByRole('button', { name: `Отозвать приглашение: ${guest.email}` }).click()
  await owner.page.getByText('Приглашение отозвано').first().waitFor()
  await guest.page.goto(link)
  await guest.page.getByText(`Вы вошли как ${guest.email}`).waitFor()
  await expectNoViolations(guest.page)
})

test('two tabs show two organizations, and neither a choice in the other nor a reload changes one', async () => {
  const { owner, guest, link } = await openOwnerAndMember()
  await guest.page.goto(link)
  await button(guest.page, 'Принять').click()
  await organizationIn(guest.page).getByText('Ромашка').waitFor()

  const other = await guest.page.context().newPage()
  await other.goto('/app')
  await organizationIn(other).getByText('Ромашка').waitFor()
  // By keyboard: the menu opens, and the second organization is chosen.
  await organizationIn(other).focus()
  await other.keyboard.press('Enter')
  await expectNoViolations(other)
  await other.keyboard.press('Tab')
  await other.keyboard.press('Tab')
  await other.keyboard.press('Enter')
  await other
    .getByRole('banner')
    .getByRole('link', { name: /Баланс/ })
    .waitFor()
  await other.goto('/app/settings')
  await other.getByLabel('Название').fill('Моя')
  await other.getByLabel('Часовой пояс').fill('Asia/Kolkata')
  await other.getByRole('main').getByRole('button', { name: 'Сохранить' }).first().click()
  await other.getByText('Нужен часовой пояс IANA').waitFor()
  await expectNoViolations(other)
  await other.getByLabel('Часовой пояс').fill('Asia/Vladivostok')
  await other.getByRole('main').getByRole('button', { name: 'Сохранить' }).first().click()
  await organizationIn(other).getByText('Моя').waitFor()

  await guest.page.reload()
  await organizationIn(guest.page).getByText('Ромашка').waitFor()
  await guest.page.goto('/app/keys?new')
  await guest.page.getByRole('dialog').getByLabel('Название').fill('Ключ гостя')
  await guest.page.getByRole('dialog').getByRole('button', { name: 'Создать ключ' }).click()
  await guest.page.getByRole('dialog').getByText('sk-gateway-').first().waitFor()
  const { rows } = await cabinet.pool.query(
    `select k.organization_id, o.time_zone from api_keys k, organizations o where k.name = 'Ключ гостя' and o.id = $1`,
    [guest.organizationId],
  )
  expect(rows).toEqual([{ organization_id: owner.organizationId, time_zone: 'Asia/Vladivostok' }])
}, 120_000)

test('the last owner who leaves sees why not', async () => {
  const { page } = await cabinet.openSignedIn()
  await page.goto('/app/team')
  await page.getByRole('main').getByRole('button', { name: 'Выйти из организации' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Выйти из организации' }).click()
  await page.getByRole('dialog').getByText('В организации должен быть хотя бы один владелец').waitFor()
  await expectNoViolations(page)
})

test('an owner creates a token, which is shown once, calls the API with it, and revokes it', async () => {
  const { page } = await cabinet.openSignedIn()
  await page.goto('/app/team')
  await page.getByText('Токенов нет.').waitFor()
  await button(page, 'Создать токен').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Создать токен' }).click()
  await dialog.getByText('Введите название, не длиннее 100 символов').waitFor()
  await dialog.getByText('Выберите хотя бы одну область').waitFor()
  await expectNoViolations(page)
  await dialog.getByLabel('Название').fill('terraform')
  await dialog.getByLabel('Ключи: создание, изменение и отзыв').check()
  await dialog.getByLabel('Срок действия').selectOption('30')
  await dialog.getByRole('button', { name: 'Создать токен' }).click()
  const secret = String(await page.locator('dialog[open] [data-secret]').textContent())
  expect(secret).toMatch(/^mt-gateway-/)
  await expectNoViolations(page)
  await dialog.getByRole('button', { name: 'Токен сохранён' }).click()
  await page.getByRole('cell', { name: 'ключи', exact: true }).waitFor()
  expect(await page.content()).not.toContain(secret)
  await expectNoViolations(page)

  const statusOf = async () => {
    const headers = { authorization: `Bearer ${secret}` }
    return (await fetch(new URL('/api/v1/keys', page.url()), { headers })).status
  }
  expect(await statusOf()).toBe(200)
  await page.getByRole('button', { name: 'Отозвать токен: terraform' }).click()
  await expectNoViolations(page)
  await dialog.getByRole('button', { name: 'Отозвать' }).click()
  await page.getByText('Токенов нет.').waitFor()
  expect(await statusOf()).toBe(401)
})
