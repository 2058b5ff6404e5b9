import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { expectNoViolations } from './axe.ts'
import { callFrom, openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

type Ledger = { readonly data: readonly { readonly kind: string; readonly amount_rub: string }[] }
type Payments = { readonly data: readonly { readonly id: string; readonly status: string }[] }

/** Kinds and sums, oldest first. */
async function booksOf(page: Page): Promise<readonly string[]> {
  const { data } = await readFrom<Ledger>(page, '/ledger')
  return data.map(({ kind, amount_rub }) => `${kind} ${amount_rub}`).toReversed()
}

const paymentsOf = async (page: Page) => (await readFrom<Payments>(page, '/payments')).data

/** From the billing page to the test payment provider. @returns the address of its page */
async function beginPayment(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Перейти к оплате' }).click()
  await page.getByRole('button', { name: 'Оплатить', exact: true }).waitFor()
  return page.url()
}

test('1000 ₽ and their bonus are credited once within 10 s despite a lost notification, and a refund takes both back', async () => {
  const { page, complaints } = await openBrowser()
  await register(page)
  const before = await booksOf(page)
  await page.goto('/app/billing')
  await page.getByText(/На баланс поступит 1\s000,00\s₽ и бонус 150,00\s₽/).waitFor()
  const till = await beginPayment(page)
  await page.getByRole('button', { name: 'Оплатить, но потерять уведомление' }).click()
  const paidAt = performance.now()
  await page.waitForURL(/\/app\/billing\/return\?payment=/)
  await page.getByRole('heading', { name: 'Баланс пополнен' }).waitFor()
  expect(performance.now() - paidAt).toBeLessThan(10_000)
  await page.getByText(/1\s000,00\s₽ и бонус 150,00\s₽ зачислены/).waitFor()
  await expectNoViolations(page)

  const returned = page.url()
  for (const _ of [1, 2, 3]) {
    await page.goto(returned)
    await page.getByRole('heading', { name: 'Баланс пополнен' }).waitFor()
  }
  expect(await booksOf(page)).toEqual([...before, 'top_up 1000', 'welcome 150'])

  await page.goto(till)
  await page.getByRole('button', { name: 'Вернуть', exact: true }).click()
  await page.goto(returned)
  await page.getByRole('heading', { name: 'Платёж возвращён' }).waitFor()
  await page.getByText('отменён бонус за пополнение').waitFor()
  await page.goto('/app/billing/history')
  const ledger = page.getByRole('region', { name: 'История баланса' })
  await ledger.getByRole('rowheader', { name: 'Возврат платежа' }).waitFor()
  await ledger.getByRole('rowheader', { name: 'Отмена бонуса' }).waitFor()
  const last = ledger.getByRole('row').nth(1).locator('data').last()
  const header = page.getByRole('banner').locator('data')
  expect(await last.getAttribute('value')).toBe(await header.getAttribute('value'))
  expect(await booksOf(page)).toEqual([
    ...before,
    'top_up 1000',
    'welcome 150',
    'refund -1000',
    'bonus_reversal -150',
  ])
  expect(complaints).toEqual([])
}, 90_000)

test('three tabs that come back and check a payment at once credit it once', async () => {
  const { page, complaints } = await openBrowser()
  await register(page)
  const before = await booksOf(page)
  await page.goto('/app/billing')
  await beginPayment(page)
  const asking = Promise.withResolvers<void>()
  let asked = 0
  await page.context().route('**/api/v1/payments/*/refresh', async (route) => {
    if (++asked === 3) asking.resolve()
    await asking.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Оплатить, но потерять уведомление' }).click()
  await page.waitForURL(/\/app\/billing\/return\?payment=/)
  const tabs = [page, await page.context().newPage(), await page.context().newPage()]
  await Promise.all(tabs.slice(1).map((tab) => tab.goto(page.url())))
  for (const tab of tabs) await tab.getByRole('heading', { name: 'Баланс пополнен' }).waitFor()
  await page.context().unrouteAll({ behavior: 'ignoreErrors' })
  expect(asked).toBeGreaterThanOrEqual(3)
  expect(await booksOf(page)).toEqual([...before, 'top_up 1000', 'welcome 150'])
  expect(complaints).toEqual([])
})

test('two clicks at once make one payment, and a declined one shows the reason', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  await page.getByRole('button', { name: /^5\s000/ }).click()
  await page.getByRole('button', { name: 'Перейти к оплате' }).dblclick()
  await page.getByRole('button', { name: 'Отменить' }).click()
  await page.getByRole('heading', { name: 'Платёж не состоялся' }).waitFor()
  await page.getByText('платёж отклонён без указания причины').waitFor()
  expect(await paymentsOf(page)).toMatchObject([{ status: 'canceled', amount_rub: '5000' }])
})

test('an amount is accepted in any typed form, and a wrong one shows an error at its field', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  const amount = page.getByLabel('Сумма', { exact: true })
  for (const [typed, message] of [
    ['９９,００', 'Не меньше 100,00'],
    ['сто рублей', 'Укажите сумму цифрами'],
    ['150,000', 'Тысячи пишите без разделителей'],
    ['150.000', 'Тысячи пишите без разделителей'],
    ['100.001', 'не больше двух цифр'],
    ['', 'Укажите сумму'],
  ] as const) {
    await amount.fill(typed)
    await page.getByRole('button', { name: 'Перейти к оплате' }).click()
    await page.getByText(message).first().waitFor()
    expect(await page.locator(':focus').getAttribute('name')).toBe('amount_rub')
    expect(await amount.inputValue()).toBe(typed)
  }
  await page.evaluate(() => scrollTo(0, 0)) // axe finds no background for text half below the top bar
  await expectNoViolations(page)
  await amount.fill(' 1\u00a0０00,50 ')
  await beginPayment(page)
  await page.goto('/app/billing')
  expect(await paymentsOf(page)).toMatchObject([{ amount_rub: '1000.5' }])
})

test('a card saved with a separate consent tops up by itself, shows why it stopped, and is removed by one click', async () => {
  const { page, complaints } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  const section = page.getByRole('region', { name: 'Автопополнение' })
  await section.getByText('Карта не сохранена').waitFor()
  const remember = page.getByRole('checkbox', { name: /Запомнить карту/ })
  expect(await remember.isChecked()).toBe(false)
  const href = await page.getByRole('link', { name: /согласие на автопополнение/ }).getAttribute('href')
  expect(href).toMatch(/^\/legal\/saved_card\/\d{4}-\d{2}-\d{2}$/)
  await remember.check()
  await beginPayment(page)
  await page.getByRole('button', { name: 'Оплатить', exact: true }).click()
  await page.getByRole('heading', { name: 'Баланс пополнен' }).waitFor()

  await page.goto('/app/billing')
  await section.getByText('MasterCard •••• 4444').waitFor()
  await section.getByLabel('Не больше в день').fill('999')
  await section.getByRole('button', { name: 'Включить' }).click()
  await section.getByText('Не меньше суммы пополнения').waitFor()
  await section.getByLabel('Не больше в день').fill('3000')
  await section.getByLabel('Пополнять, когда баланс меньше').fill('5000')
  await section.getByRole('button', { name: 'Включить' }).click()
  await section.getByText(/1\s000,00\s₽ из 3\s000,00\s₽/).waitFor({ timeout: 30_000 })
  await expectNoViolations(page)
  await page.setViewportSize({ width: 320, height: 640 })
  await expectNoViolations(page)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  await page.setViewportSize({ width: 1280, height: 800 })
  await pool.query(
    `update saved_cards set stopped_at = now(), stop_reason = 'insufficient_funds'
      where organization_id = (select organization_id from payments where id = $1)`,
    [(await paymentsOf(page))[0]?.id],
  )
  await page.goto('/app/billing/payments')
  await page.getByRole('region', { name: 'Платежи' }).getByText('Автопополнение').waitFor()
  await page.goto('/app/billing')
  await section.getByText('Автопополнение остановлено: недостаточно средств на счёте').waitFor()
  await expectNoViolations(page)
  await section.getByRole('button', { name: 'Отключить и удалить карту' }).click()
  await section.getByText('Карта не сохранена').waitFor()
  expect(complaints).toEqual([])
}, 90_000)

/** As if the offer that the user accepted were an earlier version. */
const outdateOffer = (email: string) =>
  pool.query(
    `insert into consents (user_id, kind, version, sha256, locale, address, agent)
     select user_id, kind, 'before', sha256, c.locale, address, agent
       from consents c join users u on u.id = c.user_id where u.email = $1 and kind = 'offer'`,
    [email],
  )

test('a new version of the offer is announced on every page until it is accepted', async () => {
  const { page } = await openBrowser()
  const email = await register(page)
  await page.goto('/app')
  await page.getByRole('heading', { level: 1 }).waitFor()
  const banner = page.getByText('Вышла новая редакция документа.')
  expect(await banner.count()).toBe(0)
  await outdateOffer(email)
  await page.goto('/app/keys')
  await banner.waitFor()
  await expectNoViolations(page)
  await banner.getByRole('link', { name: 'Прочитать и принять' }).click()
  await page.getByRole('button', { name: 'Принять новую редакцию' }).click()
  await page.getByText('Новая редакция принята').first().waitFor()
  await page.goto('/app/keys')
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await banner.count()).toBe(0)
})

test('a changed offer is accepted on the way, and what was typed stays', async () => {
  const { page } = await openBrowser()
  await outdateOffer(await register(page))
  await page.goto('/app/billing')
  await page.getByLabel('Сумма', { exact: true }).fill('700')
  await page.getByRole('button', { name: 'Перейти к оплате' }).click()
  const box = page.getByRole('checkbox', { name: /редакцию оферты/ })
  await box.waitFor()
  expect(await box.isChecked()).toBe(false)
  await page.getByRole('button', { name: 'Перейти к оплате' }).click()
  await page.getByText('Чтобы продолжить, примите').waitFor()
  await box.check()
  await beginPayment(page)
  await page.goto('/app/billing')
  expect(await paymentsOf(page)).toMatchObject([{ amount_rub: '700', status: 'pending' }])
})

test('a threshold is kept, and an empty field removes it', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  const threshold = page.getByLabel('Порог')
  await threshold.fill('150.000')
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText('Тысячи пишите без разделителей').waitFor()
  for (const [typed, kept] of [
    ['１00,50', '100.5'],
    ['', null],
  ] as const) {
    await threshold.fill(typed)
    await page.getByRole('button', { name: 'Сохранить' }).click()
    await page.getByText(kept === null ? 'Письма о низком балансе отключены' : 'Порог сохранён').waitFor()
    const { text } = await callFrom(page, 'GET', '/organization')
    expect(JSON.parse(text)).toMatchObject({ low_balance_threshold_rub: kept })
  }
})

test('limits of the organization are set one by one, shown with what is spent, and removed', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  const month = page.getByLabel('Лимит на месяц')
  const set = page.getByRole('button', { name: 'Задать лимиты' })
  for (const [typed, error] of [
    ['0', 'Больше нуля'],
    ['-1', 'Укажите сумму цифрами'],
    ['1000000000', 'Не больше 999'],
  ] as const) {
    await month.fill(typed)
    await set.click()
    await page.getByText(error).waitFor()
  }
  await month.fill('1500,50')
  await page.getByLabel('Лимит на день').fill('100')
  await set.click()
  await page.getByText('Лимиты расходов сохранены').first().waitFor()
  const kept = async () => JSON.parse((await callFrom(page, 'GET', '/organization')).text)
  expect(await kept()).toMatchObject({
    daily_budget_rub: '100',
    weekly_budget_rub: null,
    monthly_budget_rub: '1500.5',
    total_budget_rub: null,
  })

  await changeOrganization(page, { weekly_budget_rub: '700' })
  await month.fill('')
  await set.click()
  await page.getByText('другой пользователь изменил настройки').waitFor()
  await set.click()
  await expect.poll(kept).toMatchObject({ weekly_budget_rub: '700', monthly_budget_rub: null })

  await page.goto('/app')
  await page.getByText('Лимиты расходов организации').waitFor()
  await page.getByText('На этой неделе').waitFor()
})

test('a threshold set by another user in the meantime is shown, and replaced only by a second click', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  const threshold = page.getByLabel('Порог')
  const kept = async () =>
    JSON.parse((await callFrom(page, 'GET', '/organization')).text).low_balance_threshold_rub
  await threshold.fill('100')
  await changeOrganization(page, { low_balance_threshold_rub: '250' })
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText(/Текущий порог: 250,00/).waitFor()
  expect(await threshold.inputValue()).toBe('100')
  expect(await kept()).toBe('250')
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText('Порог сохранён').waitFor()
  expect(await kept()).toBe('100')
})

/** As in another tab. */
async function changeOrganization(page: Page, change: object): Promise<void> {
  const body = JSON.stringify(change)
  const status = await page.evaluate(`(async () => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
    const etag = (await fetch('/api/v1/organization')).headers.get('etag')
    const init = { method: 'PATCH', headers: { ...headers, 'if-match': etag }, body: ${JSON.stringify(body)} }
    return (await fetch('/api/v1/organization', init)).status
  })()`)
  expect(status).toBe(200)
}

test('the balance has three pages: top up, payments and documents, and the history, which the old address with its filters opens', async () => {
  const { page, complaints } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  await beginPayment(page)
  await page.getByRole('button', { name: 'Оплатить', exact: true }).click()
  await page.getByRole('heading', { name: 'Баланс пополнен' }).waitFor()
  await page.goto('/app/billing?kind=trial')
  await page.waitForURL('**/app/billing/history?kind=trial')
  const table = page.getByRole('table', { name: 'История баланса' })
  await table.getByRole('rowheader', { name: 'Пробный бонус' }).waitFor()
  expect(await table.getByRole('rowheader').count()).toBe(1)
  await page.getByLabel('Вид операции').selectOption('')
  const amounts = () =>
    table.locator('td:nth-child(4) data').evaluateAll((all) => all.map((each) => each.getAttribute('value')))
  await expect.poll(amounts).toEqual(['150', '1000', '30'])
  const byAmount = table.getByRole('columnheader', { name: 'Сумма' })
  for (const [order, sums] of [
    ['descending', ['1000', '150', '30']],
    ['ascending', ['30', '150', '1000']],
    ['none', ['150', '1000', '30']],
  ] as const) {
    await byAmount.getByRole('button').click()
    expect([await byAmount.getAttribute('aria-sort'), await amounts()]).toEqual([order, sums])
  }
  await expectNoViolations(page)

  const places = page.getByRole('main').getByRole('navigation', { name: 'Баланс' })
  await places.getByRole('link', { name: 'Платежи и документы' }).click()
  await page.getByRole('table', { name: 'Платежи' }).getByText('Зачислен').waitFor()
  await page.getByRole('table', { name: 'Бонусы' }).waitFor()
  expect(await places.locator('[aria-current=page]').allTextContents()).toEqual(['Платежи и документы'])
  const address = await page
    .getByRole('link', { name: /^Операции \(CSV\)/ })
    .first()
    .getAttribute('href')
  const { text } = await callFrom(page, 'GET', (address ?? '').replace('/api/v1', ''))
  const [head = '', ...rows] = text.trimEnd().split('\r\n')
  const place = head.split(',').indexOf('amount_rub')
  expect(rows.map((row) => row.split(',')[place])).toEqual(['150', '1000', '30'])
  await expectNoViolations(page)
  expect(complaints).toEqual([])
}, 90_000)

test('on a phone each change of the balance has two lines, and a field sorts them', async () => {
  const { page } = await openBrowser({ width: 320 })
  await register(page)
  await page.goto('/app/billing')
  await beginPayment(page)
  await page.getByRole('button', { name: 'Оплатить', exact: true }).click()
  await page.getByRole('heading', { name: 'Баланс пополнен' }).waitFor()
  await page.goto('/app/billing/history')
  const rows = page.getByRole('table', { name: 'История баланса' }).locator('tbody tr')
  await expect.poll(() => rows.count()).toBe(3)
  const heights = await rows.evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height))
  expect(Math.max(...heights)).toBeLessThan(72)
  await page.getByLabel('Сортировка').selectOption('Сумма: по убыванию')
  expect(await rows.first().locator('th').textContent()).toContain('Пополнение')
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(320)
  await expectNoViolations(page)
  await page.goto('/app/billing/payments')
  await page.getByRole('table', { name: 'Платежи' }).getByText('Зачислен').waitFor()
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(320)
  await expectNoViolations(page)
}, 90_000)
