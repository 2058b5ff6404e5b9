import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, expect, test, vi } from 'vitest'
import { driveTill } from '../support/till.ts'
import { openAsAdministrator } from './administrator.ts'
import { expectNoViolations } from './axe.ts'
import { callFrom, openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register, system } from './visitor.ts'

// A day of support. Each customer has a real failure and names one id; each answer is on the pages of administration.
const pool = openDatabase()
afterAll(() => pool.end())
const drive = driveTill(system.testPaymentsUrl)

/** A customer in a browser, with a key. The limits are those of the key. */
async function customerWithKey(limits: object = {}) {
  const { page } = await openBrowser()
  await register(page)
  const { text } = await callFrom(page, 'POST', '/keys', { name: 'Бот', ...limits })
  const { secret, key } = JSON.parse(text) as { secret: string; key: { id: string; secret_hint: string } }
  const ask = (model = 'demo/echo', stream = false, signal?: AbortSignal) =>
    fetch(`${system.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream,
        max_tokens: 100,
        messages: [{ role: 'user', content: 'раз два три четыре пять шесть семь' }],
      }),
      ...(signal && { signal }),
    })
  return { page, ask, hint: key.secret_hint }
}

/** The id that a customer reads from the header of a response. */
function idOf({ headers }: Response): string {
  const id = headers.get('x-gateway-request-id')
  expect(id).toMatch(/^[\da-f-]{36}$/)
  return id ?? ''
}

/** Searches until something of this name is found: a request is settled shortly after its response. */
async function searchFor(page: Page, text: string, section: string): Promise<void> {
  await vi.waitFor(
    async () => {
      await page.goto('/app')
      await page.locator('[name=text]').fill(text)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: section, exact: true }).waitFor({ timeout: 2_000 })
    },
    { timeout: 20_000 },
  )
}

/** From the search by a request id to its receipt. */
async function openReceipt(page: Page, requestId: string): Promise<void> {
  await searchFor(page, requestId, 'Запросы')
  await page.getByRole('link', { name: requestId }).click()
  await page.getByRole('heading', { name: 'Из чего сложилась стоимость' }).waitFor()
}

/** Makes an administrator's call that must succeed. */
async function callAsAdministrator<Body>(page: Page, path: string, body: object): Promise<Body> {
  const { status, text } = await callFrom(page, 'POST', path, body)
  expect([status, text]).toEqual([expect.toSatisfy((code: number) => code < 300), expect.any(String)])
  return JSON.parse(text) as Body
}

async function organizationOf(page: Page): Promise<string> {
  const { organizations } = await readFrom<{ organizations: readonly { id: string }[] }>(page, '/me')
  return organizations[0]?.id ?? ''
}

test('a request over the rate limit is explained from its id: the limit, what was used and when it is lifted', async () => {
  const { ask } = await customerWithKey({ rpm: 1 })
  expect((await ask()).status).toBe(200)
  const rejected = await ask()
  expect(rejected.status).toBe(429)
  const { page } = await openAsAdministrator()
  await searchFor(page, idOf(rejected), 'Отклонённые запросы')
  await page.getByText('Слишком много запросов за минуту').waitFor()
  await page.getByText('demo/echo · Бот').waitFor()
  for (const [name, value] of [
    ['Использовано', '1'],
    ['Лимит', '1'],
    ['Обновится', ''],
  ] as const)
    await page.locator('main dl div', { hasText: `${name}:${value}` }).waitFor()
}, 120_000)

test('a stream that the customer’s program cut is explained from its id, with what was paid for it', async () => {
  const { ask } = await customerWithKey()
  const leaving = new AbortController()
  const stream = await ask('demo/slow', true, leaving.signal)
  await stream.body?.getReader().read()
  leaving.abort()
  const { page } = await openAsAdministrator()
  await openReceipt(page, idOf(stream))
  await page.getByText('Прерван клиентом').waitFor()
  await page.getByText('Клиент отключился до конца ответа').waitFor()
  await page.getByRole('cell', { name: 'demo / main' }).waitFor()
  const total = page.getByRole('row', { name: 'Всего' }).locator('data')
  expect(Number(await total.getAttribute('value'))).toBeGreaterThan(0)
}, 120_000)

test('a paid payment without a notification is found by both of its ids, and credited once the provider is asked', async () => {
  const { page: theirs } = await customerWithKey()
  const { id } = JSON.parse((await callFrom(theirs, 'POST', '/payments', { amount_rub: '700' })).text)
  const { rows } = await pool.query('select provider_id from payments where id = $1', [id])
  const providerId: string = rows[0]?.provider_id
  // The poll of the worker would find it within a minute.
  await pool.query("update payments set next_poll_at = now() + interval '1 day' where id = $1", [id])
  await drive.pay(providerId, 'lost')

  const { page } = await openAsAdministrator()
  for (const text of [id, providerId]) {
    await searchFor(page, text, 'Платежи')
    await page.getByRole('cell', { name: 'Ждёт оплаты' }).waitFor()
  }
  expect(await page.getByRole('heading', { name: 'Операции по балансу' }).count()).toBe(0)
  await page.getByRole('button', { name: `Спросить провайдера о платеже ${id}` }).click()
  await page.getByText('Данные платежа обновлены').waitFor()
  await page.getByRole('heading', { name: 'Операции по балансу' }).waitFor()
  await page.getByRole('cell', { name: 'Зачислен' }).waitFor()
  await expectNoViolations(page)

  await page.goto(`/app/customers/${await organizationOf(theirs)}`)
  await page.getByRole('tab', { name: 'Платежи' }).click()
  await page.getByRole('button', { name: `Спросить провайдера о платеже ${id}` }).click()
  await page.getByText('У провайдера ничего нового').waitFor()
  const { data } = await readFrom<{ data: { kind: string; amount_rub: string }[] }>(theirs, '/ledger')
  expect(data.filter(({ kind }) => kind === 'top_up').map((entry) => entry.amount_rub)).toEqual(['700'])

  await page.goto('/app/audit')
  await page.getByText('payment.refresh').first().waitFor()
}, 120_000)

test('a key that an empty balance blocks is explained from the rejected request and from the visible parts of the key', async () => {
  const { page: theirs, ask, hint } = await customerWithKey()
  const { page } = await openAsAdministrator()
  const organization = await organizationOf(theirs)
  const { balance_rub } = await readFrom<{ balance_rub: string }>(theirs, '/balance')
  await callAsAdministrator(page, `/admin/organizations/${organization}/adjustments`, {
    amount_rub: `-${balance_rub}`,
    reason: 'Возврат пробной суммы',
  })
  const rejected = await vi.waitFor(async () => {
    const response = await ask()
    expect(response.status).toBe(402)
    return response
  })
  await searchFor(page, idOf(rejected), 'Отклонённые запросы')
  await page.getByText('На балансе закончились деньги').waitFor()

  await searchFor(page, hint, 'Ключи')
  await page.getByRole('link', { name: /^org-/ }).first().click()
  await page.getByRole('tab', { name: 'Ключи' }).click()
  await page.getByRole('cell', { name: 'Заблокирован нет денег' }).waitFor()
  await page.getByRole('tab', { name: 'История' }).click()
  await page
    .getByText(/Корректировка · .30,00/)
    .first()
    .waitFor()
}, 120_000)

test('a wrong price is found from one request, corrected, and what was paid too much is given back', async () => {
  const { page: theirs, ask } = await customerWithKey()
  const { page } = await openAsAdministrator()
  const model = `support/m-${randomUUID().slice(0, 8)}`
  await callAsAdministrator(page, '/admin/models', {
    spec: {
      model,
      backends: [{ name: 'main', providerRef: { name: 'demo' }, model: 'echo' }],
      // a thousand times the price of the contract
      pricingRubPerMillionTokens: { input: '10000', output: '30000' },
    },
    reason: 'Новая модель',
  })
  const wrong = await vi.waitFor(async () => {
    const response = await ask(model)
    expect(response.status).toBe(200)
    return response
  })
  await openReceipt(page, idOf(wrong))
  const priceOf = () => page.getByRole('row', { name: 'Вывод' }).locator('data').first().getAttribute('value')
  expect(await priceOf()).toBe('30000')

  await page.goto(`/app/models/${model}`)
  await page.getByRole('button', { name: 'Изменить цену' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByLabel('Вход, 1 млн токенов').fill('10')
  await dialog.getByLabel('Выход, 1 млн токенов').fill('30')
  await dialog.locator('[name=reason]').fill('Опечатка в цене')
  await dialog.getByRole('button', { name: 'Изменить цену' }).click()
  await page.getByRole('row', { name: 'Прежняя' }).waitFor()
  await vi.waitFor(async () => {
    const { gateways } = await readFrom<{ gateways: { is_current: boolean }[] }>(page, '/admin/catalog-state')
    expect(gateways.every(({ is_current }) => is_current)).toBe(true)
  })
  const right = await ask(model)
  await openReceipt(page, idOf(right))
  expect(await priceOf()).toBe('30')
  await openReceipt(page, idOf(wrong)) // a receipt keeps its price
  expect(await priceOf()).toBe('30000')

  const paid = Number(await page.getByRole('row', { name: 'Всего' }).locator('data').getAttribute('value'))
  const tooMuch = ((paid * 999) / 1000).toFixed(9)
  await page.getByRole('link', { name: 'К клиенту' }).click()
  await page.getByRole('button', { name: 'Изменить баланс' }).click()
  await page.locator('dialog [name=amount_rub]').fill(tooMuch)
  await page.locator('dialog [name=reason]').fill('Возврат из-за опечатки в цене')
  await page.locator('dialog [type=submit]').click()
  await page.getByText('Баланс изменён').waitFor()
  const { data } = await readFrom<{ data: { kind: string; amount_rub: string }[] }>(theirs, '/ledger')
  const given = data.filter(({ kind }) => kind === 'adjustment').map(({ amount_rub }) => Number(amount_rub))
  expect(given).toEqual([Number(tooMuch)])
}, 120_000)
