import { generateSync } from 'otplib'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { aPassword, lettersTo } from '../support/cabinet.ts'
import { pressTwice } from './hand.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { callFrom } from './signed-in-calls.ts'
import { openBrowser, signIn } from './visitor.ts'

const cabinet = await ownCabinetOfThisFile()

/** A new user, with everything that their browser changes and their audit log. */
async function openFollowed() {
  const visitor = await cabinet.openSignedIn()
  const { page, email, userId, organizationId } = visitor
  const calls: string[] = []
  page.on('request', (request) => {
    if (request.method() !== 'GET') calls.push(`${request.method()} ${new URL(request.url()).pathname}`)
  })
  const audited = async () => {
    const { rows } = await cabinet.pool.query<{ action: string }>(
      `select action from audit_log
        where organization_id = $1 or (subject_kind = 'User' and subject_id = $2) order by id`,
      [organizationId, userId],
    )
    return rows.map(({ action }) => action)
  }
  const letters = async () => (await lettersTo(cabinet.pool, email)).map(({ kind }) => kind)

  /** Everything that both clicks called, changed and sent, once the page shows the result. */
  async function effectsOf(press: Promise<void>, isDone: Locator) {
    const before = {
      calls: calls.length,
      audited: (await audited()).length,
      letters: (await letters()).length,
    }
    await press
    await isDone.first().waitFor()
    return {
      calls: calls.slice(before.calls).map((call) => call.replace(/[\da-f]{8}-[\da-f-]{27}/, ':id')),
      audited: (await audited()).slice(before.audited),
      letters: (await letters()).slice(before.letters),
    }
  }
  return { ...visitor, effectsOf }
}

const button = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true })

async function newKey(page: Page, name: string): Promise<string> {
  const { text } = await callFrom(page, 'POST', '/keys', { name })
  return JSON.parse(text).key.id
}

test('two clicks at once on every button of a key change it once: one new secret, one line in the audit log', async () => {
  const { page, effectsOf } = await openFollowed()
  const keyId = await newKey(page, 'Once')
  await page.goto(`/app/keys/${keyId}`)
  const [block, unblock] = [button(page, 'Заблокировать'), button(page, 'Разблокировать')]
  expect(await effectsOf(pressTwice(block), unblock)).toEqual({
    calls: ['POST /api/v1/keys/:id/block'],
    audited: ['key.block'],
    letters: [],
  })
  expect(await effectsOf(pressTwice(unblock), block)).toEqual({
    calls: ['POST /api/v1/keys/:id/unblock'],
    audited: ['key.unblock'],
    letters: [],
  })

  await page.locator('[name=rpm]').fill('7')
  expect(await effectsOf(pressTwice(button(page, 'Сохранить')), page.getByText('Сохранено'))).toEqual({
    calls: ['PATCH /api/v1/keys/:id'],
    audited: ['key.set_limits'],
    letters: [],
  })

  const dialog = page.getByRole('dialog')
  await button(page, 'Выпустить новый секрет').click()
  const rotated = effectsOf(
    pressTwice(button(dialog, 'Выпустить новый секрет')),
    dialog.locator('[data-secret]'),
  )
  expect(await rotated).toMatchObject({ calls: ['POST /api/v1/keys/:id/rotate'], letters: [] })
  expect((await rotated).audited.filter((action) => action === 'key.rotate')).toHaveLength(1)
  const { rows } = await cabinet.pool.query(
    'select count(*)::int as count from api_key_credentials where key_id = $1 and valid_until is null',
    [keyId],
  )
  expect(rows).toEqual([{ count: 1 }])
  await button(dialog, 'Ключ сохранён').click()

  await button(page, 'Отозвать ключ').click()
  await dialog.locator('[name=confirmation]').fill('Once')
  const revoked = page.getByText('Ключ отозван')
  expect(await effectsOf(pressTwice(button(dialog, 'Отозвать ключ')), revoked)).toMatchObject({
    calls: ['DELETE /api/v1/keys/:id'],
    letters: [],
    audited: expect.arrayContaining(['key.revoke']),
  })
})

test('a slow double click blocks a key without unblocking it again, and leaves a dialog open that it opened', async () => {
  const { page, effectsOf } = await openFollowed()
  await page.goto(`/app/keys/${await newKey(page, 'Slowly')}`)
  const doubleClick = (target: Locator) => target.dblclick({ delay: 200 })
  const unblock = button(page, 'Разблокировать')
  expect(await effectsOf(doubleClick(button(page, 'Заблокировать')), unblock)).toMatchObject({
    audited: ['key.block'],
  })
  expect(await unblock.isVisible()).toBe(true)
  await doubleClick(button(page, 'Выпустить новый секрет'))
  await page.getByRole('dialog').locator('[name=grace]').waitFor()
})

test('two clicks at once set a threshold, a password and a consent once, and end one session', async () => {
  const { page, effectsOf, email, userId } = await openFollowed()
  await page.goto('/app/billing')
  await page.locator('[name=low_balance_threshold_rub]').fill('77')
  const threshold = page.locator('form:has([name=low_balance_threshold_rub])')
  expect(
    await effectsOf(pressTwice(button(threshold, 'Сохранить')), page.getByText('Порог сохранён')),
  ).toEqual({
    calls: ['PATCH /api/v1/organization'],
    audited: ['organization.update'],
    letters: [],
  })

  await cabinet.pool.query(
    `insert into consents (user_id, kind, version, sha256, locale, address, agent)
     select user_id, kind, 'before', sha256, locale, address, agent from consents
      where user_id = $1 and kind = 'offer'`,
    [userId],
  )
  const other = await openBrowser({}, { baseURL: cabinet.url })
  await signIn(other.page, email, aPassword)
  await page.goto('/app/settings')
  const accepted = page.getByText('Новая редакция принята')
  expect(await effectsOf(pressTwice(button(page, 'Принять новую редакцию')), accepted)).toEqual({
    calls: ['POST /api/v1/me/consents'],
    audited: ['user.accept_document'],
    letters: [],
  })

  const end = page.getByRole('button', { name: /^Завершить сеанс: / }).first()
  expect(await effectsOf(pressTwice(end), page.getByText('Сеанс завершён'))).toMatchObject({
    calls: ['DELETE /api/v1/me/sessions/:id'],
  })

  await button(page, 'Сменить пароль').click()
  await page.locator('[name=current_password]').fill(aPassword)
  await page.locator('[name=new_password]').fill('another long phrase')
  const changed = page.getByText('Пароль изменён')
  expect(await effectsOf(pressTwice(button(page, 'Сменить пароль')), changed)).toEqual({
    calls: ['POST /api/v1/auth/password/change'],
    audited: ['user.change_password'],
    letters: ['password_changed'],
  })
})

test('two clicks at once set up, renew and turn off a second factor once', async () => {
  const { page, effectsOf } = await openFollowed()
  await page.goto('/app/settings')
  const dialog = page.getByRole('dialog')
  await button(page, 'Включить').click()
  await dialog.locator('[name=password]').fill(aPassword)
  const code = dialog.locator('[name=code]')
  expect(await effectsOf(pressTwice(button(dialog, 'Продолжить')), code)).toEqual({
    calls: ['POST /api/v1/me/totp/enrol'],
    audited: [],
    letters: [],
  })
  const secret = ((await dialog.locator('code').textContent()) ?? '').replaceAll(' ', '')
  /** No code is accepted twice, or before an earlier one: codes of the previous step, this one, and the next. */
  const codeOf = (steps: number) =>
    generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * 30 })

  await code.fill(codeOf(-1))
  const saved = button(dialog, 'Коды сохранены')
  expect(await effectsOf(pressTwice(button(dialog, 'Включить')), saved)).toEqual({
    calls: ['POST /api/v1/me/totp/confirm'],
    audited: ['user.enable_totp', 'user.renew_recovery_codes'],
    letters: ['totp_enabled'],
  })
  await saved.click()

  await button(page, 'Создать новые резервные коды').click()
  await code.fill(codeOf(0))
  expect(await effectsOf(pressTwice(button(dialog, 'Создать новые резервные коды')), saved)).toEqual({
    calls: ['POST /api/v1/me/recovery-codes'],
    audited: ['user.renew_recovery_codes'],
    letters: [],
  })
  await saved.click()

  await button(page, 'Выключить').click()
  await dialog.locator('[name=password]').fill(aPassword)
  await code.fill(codeOf(1))
  const off = page.getByText('Двухфакторная аутентификация выключена')
  expect(await effectsOf(pressTwice(button(dialog, 'Выключить')), off)).toEqual({
    calls: ['DELETE /api/v1/me/totp'],
    audited: ['user.disable_totp'],
    letters: ['totp_disabled'],
  })

  await page.getByRole('button', { name: 'Профиль и выход' }).click()
  expect(await effectsOf(pressTwice(button(page, 'Выйти')), page.locator('form'))).toMatchObject({
    calls: ['POST /api/v1/auth/logout'],
  })
})
