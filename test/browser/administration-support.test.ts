import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, expect, test, vi } from 'vitest'
import { openAsAdministrator } from './administrator.ts'
import { expectNoViolations } from './axe.ts'
import { callFrom, openDatabase, readFrom } from './signed-in-calls.ts'
import { linkTo, newEmail, openBrowser, register } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

/** Another administrator, whose requests the one of the demo can decide. */
async function colleague(): Promise<{ readonly id: string; readonly email: string }> {
  const [id, email] = [randomUUID(), newEmail()]
  await pool.query(
    "insert into administrators (id, email, password_hash, totp_sealed) values ($1, $2, '!', 'not sealed')",
    [id, email],
  )
  return { id, email }
}

/** A customer in a browser, and the address of their page in administration. */
async function customer() {
  const { page, complaints } = await openBrowser()
  const email = await register(page)
  const { rows } = await pool.query<{ userId: string; organizationId: string }>(
    `select u.id as "userId", m.organization_id as "organizationId"
       from users u join memberships m on m.user_id = u.id where u.email = $1`,
    [email],
  )
  const [{ userId, organizationId } = { userId: '', organizationId: '' }] = rows
  return { page, complaints, email, userId, organizationId, address: `/app/customers/${organizationId}` }
}

/** Gives the reason in the open dialog, and sends it. */
async function giveReason(page: Page): Promise<void> {
  await page.locator('dialog [name=reason]').fill('Проверено по обращению')
  await page.locator('dialog [type=submit]').click()
}

/** A credit of 6,000 ₽ that waits for a second administrator. */
async function requestCredit(
  organizationId: string,
): Promise<{ readonly id: string; readonly email: string }> {
  const { id: by, email } = await colleague()
  const id = randomUUID()
  await pool.query(
    `insert into money_orders (id, kind, organization_id, amount, reason, ordered_by, because, state, expires_at)
     values ($1, 'adjustment', $2, 6000000000000, 'За простой', $3, 'amount', 'pending', now() + interval '7 days')`,
    [id, organizationId, by],
  )
  return { id, email }
}

test('one request of a colleague is approved, which moves the money, and another is declined', async () => {
  const { organizationId, page: theirs } = await customer()
  const [approved, declined] = [await requestCredit(organizationId), await requestCredit(organizationId)]
  const { page } = await openAsAdministrator()
  await page.goto('/app/approvals')
  await page.getByRole('button', { name: `Подтвердить: ${approved.email}` }).click()
  await expectNoViolations(page)
  await giveReason(page)
  await page.getByText('Решение сохранено').first().waitFor()
  await page.getByRole('button', { name: `Отклонить: ${declined.email}` }).click()
  await giveReason(page)
  await page.getByRole('button', { name: `Отклонить: ${declined.email}` }).waitFor({ state: 'detached' })
  const { rows } = await pool.query('select id, state from money_orders where organization_id = $1', [
    organizationId,
  ])
  expect(Object.fromEntries(rows.map(({ id, state }) => [id, state]))).toEqual({
    [approved.id]: 'approved',
    [declined.id]: 'declined',
  })
  const { data } = await readFrom<{ data: { kind: string; amount_rub: string }[] }>(theirs, '/ledger')
  expect(data.filter(({ kind }) => kind === 'adjustment')).toMatchObject([{ amount_rub: '6000' }])
}, 60_000)

test('a part of a payment is refunded, and the customer sees it in the ledger', async () => {
  const { page: theirs } = await customer()
  await theirs.goto('/app/billing')
  await theirs.getByRole('button', { name: 'Перейти к оплате' }).click()
  await theirs.getByRole('button', { name: 'Оплатить', exact: true }).click()
  await theirs.getByRole('heading', { name: 'Баланс пополнен' }).waitFor()
  const { data: payments } = await readFrom<{ data: { id: string }[] }>(theirs, '/payments')
  const { page } = await openAsAdministrator()
  await page.goto('/app/payments')
  await page.getByRole('button', { name: `Вернуть платёж ${payments[0]?.id}` }).click()
  await page.locator('dialog [name=amount_rub]').fill('1,234')
  await giveReason(page)
  await page.getByText('Введите сумму').waitFor()
  await page.locator('dialog [name=amount_rub]').fill('100')
  await page.locator('dialog [type=submit]').click()
  await page.getByText('Возврат отправлен провайдеру').waitFor()
  await vi.waitFor(async () => {
    const { data } = await readFrom<{ data: { kind: string; amount_rub: string }[] }>(theirs, '/ledger')
    const refunds = data.filter(({ kind }) => kind === 'refund').map(({ amount_rub }) => amount_rub)
    expect(refunds).toEqual(['-100'])
  })
}, 60_000)

test('a user is signed out everywhere', async () => {
  const { page: theirs, email, address } = await customer()
  const { page } = await openAsAdministrator()
  await page.goto(address)
  await page.getByRole('button', { name: `Завершить сеансы: ${email}` }).click()
  await giveReason(page)
  await page.locator('dialog').waitFor({ state: 'detached' })
  expect((await callFrom(theirs, 'GET', '/me')).status).toBe(401)
})

test('an email is sent again once its minute is over, and one without an occasion is not', async () => {
  const { page: theirs, email, address } = await customer()
  await callFrom(theirs, 'POST', '/auth/password/forgot', { email })
  const sentCount = async () => {
    const { rows } = await pool.query(
      "select from email_outbox where recipient = $1 and kind = 'reset_password' and sent_at is not null",
      [email],
    )
    return rows.length
  }
  await vi.waitFor(async () => expect(await sentCount()).toBe(1))
  await pool.query("update email_outbox set created_at = now() - interval '2 minutes' where recipient = $1", [
    email,
  ])
  const { page } = await openAsAdministrator()
  await page.goto(address)
  await page.getByRole('tab', { name: 'Письма' }).click()
  await page.getByRole('button', { name: `Отправить снова: «Подтверждение почты», ${email}` }).click()
  await giveReason(page)
  await page.getByText('Повод письма исчез').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: `Отправить снова: «Новый пароль», ${email}` }).click()
  await giveReason(page)
  await page.getByText('Письмо поставлено в очередь').waitFor()
  await vi.waitFor(async () => expect(await sentCount()).toBe(2))
}, 60_000)

test('a lost second factor is requested, approved by a colleague, and kept by its user’s click', async () => {
  const { page: theirs, email, userId, address } = await customer()
  await pool.query("update users set totp_sealed = 'not sealed', totp_enrolled_at = now() where id = $1", [
    userId,
  ])
  const { id: colleagueId } = await colleague()
  const { page } = await openAsAdministrator()
  await page.goto(address)
  await page.getByRole('button', { name: `Сбросить второй фактор ${email}` }).click()
  await giveReason(page)
  await page.getByText('Ждёт подтверждения второго администратора').waitFor()
  await page.goto('/app/approvals')
  await page.getByRole('button', { name: `Подтвердить: ${email}` }).click()
  await giveReason(page)
  await page.getByText('Нужен другой администратор').waitFor()
  await page.keyboard.press('Escape')
  await pool.query('update totp_resets set ordered_by = $2 where user_id = $1', [userId, colleagueId])
  await page.getByRole('button', { name: `Подтвердить: ${email}` }).click()
  await giveReason(page)
  await page.getByText('Будет отключён').first().waitFor()
  await expectNoViolations(page)

  await theirs.goto(await linkTo(email, 'totp-reset'))
  await expectNoViolations(theirs)
  await theirs.getByRole('button', { name: 'Отменить отключение' }).click()
  await theirs.getByText('Отключение отменено').waitFor()
  const { rows } = await pool.query('select state from totp_resets where user_id = $1', [userId])
  expect(rows).toEqual([{ state: 'canceled' }])
}, 60_000)

test('an account is deleted once its address is typed, and its user is signed out', async () => {
  const { page: theirs, email, organizationId, address } = await customer()
  const { page } = await openAsAdministrator()
  await page.goto(address)
  await page.getByRole('button', { name: `Удалить аккаунт ${email}` }).click()
  await page.locator('dialog [name=email]').fill('other@example.com')
  await giveReason(page)
  await page.getByText('Введите почту этого пользователя').waitFor()
  await expectNoViolations(page)
  await page.locator('dialog [name=email]').fill(email)
  await page.locator('dialog [type=submit]').click()
  await page.getByText('Сначала баланс').waitFor() // the trial
  await pool.query(
    `select post_adjustment(a.organization_id, gen_random_uuid(), -a.balance, now())
       from org_account a where a.organization_id = $1`,
    [organizationId],
  )
  await page.locator('dialog [type=submit]').click()
  await page.getByText('Аккаунт удалён').waitFor()
  await page.getByText('Организация заблокирована').waitFor()
  expect((await callFrom(theirs, 'GET', '/me')).status).toBe(401)
}, 60_000)
