import { generateSync } from 'otplib'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { expectNoViolations } from './axe.ts'
import { openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, password, register } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

const stepS = 30

/** A code of the app; `steps` later than now, since no code is accepted twice. */
function codeOf(secret: string, steps = 0): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * stepS })
}

async function openSettings(look: Parameters<typeof openBrowser>[0] = {}) {
  const visitor = await openBrowser(look)
  const email = await register(visitor.page)
  await visitor.page.goto('/app/settings')
  await visitor.page.getByRole('heading', { name: 'Профиль' }).waitFor()
  return { ...visitor, email }
}

async function signIn(page: Page, email: string, secret = password): Promise<void> {
  await page.goto('/login')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(secret)
  await page.locator('form [type=submit]').click()
}

test('a second factor is set up by its key, required at the sign-in, replaced by a recovery code, and turned off', async () => {
  const { page, email, complaints } = await openSettings()
  await page.getByRole('button', { name: 'Включить' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Текущий пароль').fill('not the password')
  await dialog.getByRole('button', { name: 'Продолжить' }).click()
  await dialog.getByText('Неверный пароль').waitFor()
  expect(await dialog.getByLabel('Текущий пароль').inputValue()).toBe('not the password')
  await dialog.getByLabel('Текущий пароль').fill(password)
  await dialog.getByRole('button', { name: 'Продолжить' }).click()
  await dialog.getByRole('img', { name: 'Код для приложения-аутентификатора' }).waitFor()
  await expectNoViolations(page)

  const secret = ((await dialog.locator('code').textContent()) ?? '').replaceAll(' ', '')
  await dialog.getByLabel('Код из приложения').fill('12345')
  await dialog.getByRole('button', { name: 'Включить' }).click()
  await dialog.getByText('Введите шесть цифр кода').waitFor()
  await dialog.getByLabel('Код из приложения').fill(codeOf(secret, -1))
  await dialog.getByRole('button', { name: 'Включить' }).click()

  await dialog.getByRole('heading', { name: 'Сохраните резервные коды' }).waitFor()
  const codes = await dialog.getByRole('listitem').allTextContents()
  expect(codes.length).toBe(10)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await expectNoViolations(page)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Скачать файлом' }).click(),
  ])
  expect(file.suggestedFilename()).toBe('model-gateway-recovery-codes.txt')
  await dialog.getByRole('button', { name: 'Готово' }).click()
  await page.getByText('Осталось 10 резервных кодов.').waitFor()
  expect(await page.content()).not.toContain(codes[0])
  await expect.poll(() => page.locator(':focus').textContent()).toMatch(/резервные коды/)

  await page.getByRole('button', { name: 'Профиль и выход' }).click()
  await page.getByRole('button', { name: 'Выйти' }).click()
  await page.waitForURL('**/login')
  await signIn(page, email)
  await page.waitForURL('**/login/totp')
  await page.getByLabel('Код').fill('000000')
  await page.getByRole('button', { name: 'Подтвердить' }).click()
  await page.locator('[aria-invalid=true]').waitFor()
  await page.getByLabel('Код').fill(codeOf(secret).replace(/^.../, '$& '))
  await page.getByRole('button', { name: 'Подтвердить' }).click()
  await page.waitForURL('**/app')

  await page.context().clearCookies()
  await signIn(page, email)
  await page.waitForURL('**/login/totp')
  await page.getByRole('button', { name: 'Ввести резервный код' }).click()
  await page.getByLabel('Резервный код').fill(codes[3] ?? '')
  await page.getByRole('button', { name: 'Подтвердить' }).click()
  await page.waitForURL('**/app')

  await page.goto('/app/settings')
  await page.getByText('Осталось 9 резервных кодов.').waitFor()
  await page.getByRole('button', { name: 'Выключить' }).click()
  await dialog.getByLabel('Текущий пароль').fill(password)
  await dialog.getByRole('button', { name: 'Ввести резервный код' }).click()
  await dialog.getByLabel('Резервный код').fill(codes[4] ?? '')
  await expectNoViolations(page)
  await dialog.getByRole('button', { name: 'Выключить' }).click()
  await page.getByText('Двухфакторная аутентификация выключена').waitFor()
  await page.getByRole('button', { name: 'Включить' }).waitFor()
  expect(complaints).toEqual([])
}, 120_000)

test('new recovery codes need a code from the app, and invalidate the old ones', async () => {
  const { page } = await openSettings()
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Включить' }).click()
  await dialog.getByLabel('Текущий пароль').fill(password)
  await dialog.getByRole('button', { name: 'Продолжить' }).click()
  const secret = ((await dialog.locator('code').textContent()) ?? '').replaceAll(' ', '')
  await dialog.getByLabel('Код из приложения').fill(codeOf(secret, -1))
  await dialog.getByRole('button', { name: 'Включить' }).click()
  const first = await dialog.getByRole('listitem').allTextContents()
  await dialog.getByRole('button', { name: 'Коды сохранены' }).click()

  const renew = page.getByRole('button', { name: 'Создать новые резервные коды' })
  await renew.click()
  await dialog.getByRole('button', { name: 'Создать новые резервные коды' }).click()
  await dialog.getByText('Введите шесть цифр кода').waitFor()
  await expectNoViolations(page)
  await dialog.getByLabel('Код из приложения').fill(codeOf(secret))
  await dialog.getByRole('button', { name: 'Создать новые резервные коды' }).click()
  await dialog.getByRole('heading', { name: 'Сохраните резервные коды' }).waitFor()
  const next = await dialog.getByRole('listitem').allTextContents()
  expect(next.filter((code) => first.includes(code))).toEqual([])
  await expectNoViolations(page)
  await dialog.getByRole('button', { name: 'Коды сохранены' }).click()
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => renew.evaluate((element) => element === document.activeElement)).toBe(true)

  const turnOff = page.getByRole('button', { name: 'Выключить' })
  await turnOff.click()
  await dialog.getByLabel('Текущий пароль').fill(password)
  await dialog.getByRole('button', { name: 'Ввести резервный код' }).click()
  await dialog.getByLabel('Резервный код').fill(first[0] ?? '')
  await dialog.getByRole('button', { name: 'Выключить' }).click()
  await dialog.locator('[aria-invalid=true]').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await turnOff.evaluate((element) => element === document.activeElement)).toBe(true)
})

test('another session is ended here, and its browser goes to the sign-in', async () => {
  const { page, email } = await openSettings()
  const other = await openBrowser()
  await signIn(other.page, email)
  await other.page.waitForURL('**/app')
  await page.reload()
  await page.getByText('Этот сеанс').waitFor()
  const end = page.getByRole('button', { name: /^Завершить сеанс: / })
  expect(await end.count()).toBe(1)
  await end.dblclick()
  await page.getByText('Сеанс завершён').first().waitFor()
  await expect.poll(() => end.count()).toBe(0)
  await other.page.goto('/app/settings')
  await other.page.waitForURL('**/login?next=%2Fapp%2Fsettings')
})

test('a new password signs in, the old one does not, and all other sessions end', async () => {
  const { page, email } = await openSettings()
  const other = await openBrowser()
  await signIn(other.page, email)
  await other.page.waitForURL('**/app')
  const next = 'another long phrase'
  await page.getByRole('button', { name: 'Сменить пароль' }).click()
  await page.getByLabel('Текущий пароль').fill('wrong')
  await page.getByLabel('Новый пароль').fill('short')
  await page.getByRole('button', { name: 'Сменить пароль' }).click()
  await page.getByText(/Слишком короткий/).waitFor()
  expect(await page.locator(':focus').getAttribute('name')).toBe('new_password')
  await page.getByLabel('Новый пароль').fill(next)
  await page.getByRole('button', { name: 'Сменить пароль' }).click()
  await page.getByText('Неверный пароль').waitFor()
  await expectNoViolations(page)
  await page.getByLabel('Текущий пароль').fill(password)
  await page.getByRole('button', { name: 'Сменить пароль' }).dblclick()
  await page.getByText('Пароль изменён').first().waitFor()
  expect(await page.content()).not.toContain(next)

  await other.page.goto('/app')
  await other.page.waitForURL('**/login?*')
  await signIn(other.page, email)
  await other.page.locator('[role=alert]').waitFor()
  await signIn(other.page, email, next)
  await other.page.waitForURL('**/app')
})

test('settings show the accepted documents, and follow the language at once', async () => {
  const { page, email } = await openSettings()
  await page.getByRole('main').getByText(email).waitFor()
  await page.getByRole('row').filter({ hasText: 'Публичная оферта' }).waitFor()
  expect(
    await page.getByRole('row').filter({ hasText: 'Согласие на обработку' }).locator('time').count(),
  ).toBe(1)
  const withdrawal = page.getByText('Чтобы отозвать согласие, напишите владельцу сервиса')
  expect(await withdrawal.getByRole('link').getAttribute('href')).toBe('/legal/personal_data')
  await expectNoViolations(page)
  await page.getByRole('main').getByRole('button', { name: 'English' }).click()
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Two-factor authentication' }).waitFor()
})

test('owners choose alerts, set a webhook whose secret is shown once, and send a test', async () => {
  const { page, email, complaints } = await openSettings()
  const dialog = page.getByRole('dialog')
  await page.getByLabel('Бюджеты').check()
  await page.getByRole('button', { name: 'Применить' }).click()
  await page.getByText('Уведомления изменены').waitFor()

  const url = page.getByLabel('Адрес вебхука')
  await url.fill('ftp://example.com')
  await page.getByRole('button', { name: 'Задать адрес' }).click()
  await page.getByText('Нужен полный адрес вебхука').waitFor()
  await url.fill('https://hooks.example.com/alerts')
  await page.getByRole('button', { name: 'Задать адрес' }).click()
  await dialog.getByRole('heading', { name: 'Секрет вебхука' }).waitFor()
  expect(await dialog.locator('code').textContent()).toMatch(/^whsec_[\w+/]{43}=$/)
  await expectNoViolations(page)
  await dialog.getByRole('button', { name: 'Секрет сохранён' }).click()

  await page.getByRole('button', { name: 'Отправить проверку' }).click()
  await page.getByText(`Проверка отправлена: ${email}, Вебхук`).waitFor()
  await expectNoViolations(page)
  await page.reload()
  await page.getByText('https://hooks.example.com/alerts').waitFor()
  expect(await page.getByLabel('Бюджеты').isChecked()).toBe(true)
  expect(await page.content()).not.toContain('whsec_')
  await page.getByRole('button', { name: 'Убрать адрес' }).click()
  await page.getByText('Вебхуки больше не отправляются').waitFor()
  await url.waitFor()
  expect(complaints).toEqual([])
}, 60_000)

test('a passkey is added, signs in without the password and the code, and is removed', async () => {
  const { page } = await openSettings()
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  await page.getByText('Ключей доступа пока нет.').waitFor()
  await page.getByRole('button', { name: 'Добавить ключ доступа' }).click()
  const dialog = page.getByRole('dialog')
  await expectNoViolations(page)
  await dialog.getByLabel('Название').fill('')
  await dialog.getByRole('button', { name: 'Добавить ключ доступа' }).click()
  await dialog.getByText('Введите название').waitFor()
  await dialog.getByLabel('Название').fill('Ноутбук')
  await dialog.getByLabel('Текущий пароль').fill('not the password')
  await dialog.getByRole('button', { name: 'Добавить ключ доступа' }).click()
  await dialog.getByText('Неверный пароль').waitFor()
  await dialog.getByLabel('Текущий пароль').fill(password)
  await dialog.getByRole('button', { name: 'Добавить ключ доступа' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('входов ещё не было').waitFor()
  await expectNoViolations(page)

  // The device already has one.
  await page.getByRole('button', { name: 'Добавить ключ доступа' }).click()
  await dialog.getByLabel('Текущий пароль').fill(password)
  await dialog.getByRole('button', { name: 'Добавить ключ доступа' }).click()
  await dialog.getByText('На этом устройстве уже есть ключ доступа вашего аккаунта.').waitFor()
  await page.keyboard.press('Escape')

  await page.context().clearCookies()
  await page.goto('/login?next=/app/settings')
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Войти ключом доступа' }).click()
  await page.getByText('последний вход').waitFor()

  await page.getByRole('button', { name: 'Удалить ключ доступа: Ноутбук' }).click()
  await dialog.getByLabel('Текущий пароль').fill(password)
  await dialog.getByRole('button', { name: 'Удалить', exact: true }).click()
  await page.getByText('Ключей доступа пока нет.').waitFor()

  // The device still has it, and offers it.
  await page.context().clearCookies()
  await page.goto('/login')
  await page.getByRole('button', { name: 'Войти ключом доступа' }).click()
  await page.getByText('Ключ доступа не принят').waitFor()
})

test('an owner links a Telegram chat by a link of the settings, sees it without a reload, and why it ended', async () => {
  const { page, complaints } = await openSettings()
  const { organization } = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  await pool.query(
    `update telegram_bot set username = 'gateway_bot', polled_until = now() + interval '1 day'`,
  )
  await page.reload()
  await page.getByRole('button', { name: 'Подключить чат' }).click()
  const link = page.getByRole('link', { name: 'Открыть бота в Telegram' })
  expect(await link.getAttribute('href')).toMatch(/^https:\/\/t\.me\/gateway_bot\?start=[\w-]{22}$/)
  await expectNoViolations(page)
  await pool.query(
    `select link_telegram_chat(code_hash, 42, 'Дежурные') from telegram_links where organization_id = $1`,
    [organization.id],
  )
  await page.getByText('Чат: Дежурные').waitFor()
  expect(await link.count()).toBe(0)
  await pool.query(`select end_telegram_links(42, 'blocked')`)
  await page.reload()
  await page.getByRole('alert').getByText('Бот заблокирован или удалён из чата').waitFor()
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Отключить чат' }).click()
  await page.getByRole('status').getByText('Чат отключён').waitFor()
  await expect.poll(() => page.getByText('Дежурные').count()).toBe(0)
  expect(complaints).toEqual([])
})
