import type { Locator, Page } from 'playwright-core'
import { afterAll, expect, test, vi } from 'vitest'
import { addRubles, nanoOf } from '#cabinet/pages/money/rubles'
import { postBatch } from '#core/ledger/post-batch'
import { entryOf, recordOf, uuidV7 } from '../support/customer.ts'
import { expectNoViolations } from './axe.ts'
import { callFrom, openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register, system } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

const dayMs = 86_400_000
const moscowMs = 3 * 3_600_000
/** Noon in Moscow, some days ago. */
const noonMs = (daysAgo: number) =>
  (Math.floor((Date.now() + moscowMs) / dayMs) - daysAgo) * dayMs - moscowMs + dayMs / 2

/** A user with 12 requests of two keys to three models on three days. */
async function openCustomer(options: Parameters<typeof openBrowser>[0] = {}) {
  const { page, complaints } = await openBrowser(options)
  await register(page)
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  const keys = await Promise.all(
    ['day', 'night'].map(async (name) => {
      const made = await callFrom(page, 'POST', '/keys', { name })
      expect(made.status).toBe(201)
      return JSON.parse(made.text) as { readonly key: { readonly id: string }; readonly secret: string }
    }),
  )
  const entries = Array.from({ length: 12 }, (_, n) =>
    entryOf(
      { organizationId: me.organization.id, keyId: keys[n % 2]?.key.id ?? '' },
      nanoOf(`${n}.12345678${n % 10}`),
      {
        requestId: uuidV7(noonMs(1 + (n % 3)) + n),
        record: recordOf({
          modelRan: `acme/model-${n % 3}`,
          stream: true,
          tokens: { input: 1_000, cachedInput: 900, output: 240 },
          firstContentMs: 400,
          totalMs: 2_400,
        }),
      },
    ),
  )
  await postBatch(pool, entries)
  return { page, complaints, keys, entries }
}

const listOf = (page: Page) => page.getByRole('table', { name: 'Запросы' })
const rowsOf = (page: Page) => listOf(page).locator('tbody tr:has(th[scope=row])')

/** Also on a busy machine. */
async function expectRows(page: Page, count: number): Promise<void> {
  await expect.poll(() => rowsOf(page).count(), { timeout: 10_000 }).toBe(count)
}

async function valuesIn(cells: Locator): Promise<string> {
  const sums = await Promise.all((await cells.all()).map((cell) => cell.getAttribute('value')))
  return addRubles(...sums.map((sum) => sum ?? 'none'))
}

async function expectSum(page: Page, sum: string | null): Promise<void> {
  await expect.poll(() => valuesIn(listOf(page).locator('data')), { timeout: 10_000 }).toBe(sum)
}

test('one click on a model, a key, a bar or a row opens exactly its requests, and their sum is the figure', async () => {
  const { page, complaints } = await openCustomer()
  for (const [group, table] of [
    ['model', 'По моделям за период'],
    ['key', 'По ключам за период'],
  ] as const) {
    const address = `/app/usage?range=week&group=${group}`
    await page.goto(address)
    const legend = page.getByRole('region', { name: 'Динамика расхода' }).getByRole('listitem')
    const places = [
      page.getByRole('table', { name: table }).locator('tbody tr'),
      page.getByRole('table', { name: 'По времени' }).locator('tbody tr'),
      legend,
    ]
    for (const figures of places) {
      await figures.first().waitFor()
      for (let at = 0; at < Math.min(2, await figures.count()); at++) {
        const figure = figures.nth(at)
        const sum = await figure.locator('data').last().getAttribute('value')
        await figure.getByRole('link').click()
        await page.waitForURL('**/app/requests?**')
        await rowsOf(page).first().waitFor()
        await expectSum(page, sum)
        const totals = page.getByText(/^Рассчитано: \d+\sзапрос/)
        expect(await totals.locator('data').getAttribute('value')).toBe(sum)
        expect(await totals.textContent()).toContain(String(await rowsOf(page).count()))
        await page.goBack()
        await figures.first().waitFor()
      }
    }
    await page.getByRole('slider').press('End')
    await page.getByRole('slider').press('ArrowLeft')
    const chosen = page.getByRole('region', { name: 'Динамика расхода' }).locator('p data')
    const sum = await chosen.getAttribute('value')
    await page.getByRole('link', { name: 'Показать запросы' }).click()
    await rowsOf(page).first().waitFor()
    await expectSum(page, sum)
  }
  expect(complaints).toEqual([])
})

test('the list has one heading a day, and each row its cached tokens, first token and speed', async () => {
  const { page } = await openCustomer()
  await page.goto('/app/requests')
  await expectRows(page, 12)
  const headings = listOf(page).locator('tbody th[scope=rowgroup]')
  expect(await headings.count()).toBe(3)
  expect(await headings.first().textContent()).toMatch(/^\d+ \S+ \d{4} г\., МСК$/)
  const first = await rowsOf(page).first().textContent()
  for (const fact of [/900 из кэша/, /первый токен через 400\sмс/, /120 ток\.\/с/, /demo/])
    expect(first).toMatch(fact)
  await expectNoViolations(page)
})

test('a part of a model name, a status and a part of the id filter the list; a part of no name finds nothing', async () => {
  const { page, entries } = await openCustomer()
  await page.goto('/app/requests')
  await page.getByLabel('Модель').fill('MODEL-2')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/app/requests?model_contains=MODEL-2')
  await expectRows(page, 4)
  await page.getByLabel('Код', { exact: true }).fill('5XX')
  await page.keyboard.press('Enter')
  await page.getByText('По этим условиям запросов не нашлось.').waitFor()
  await page.getByRole('button', { name: 'Сбросить фильтры' }).click()
  await page.getByLabel('Стоимость от').fill('10,5')
  await page.keyboard.press('Enter')
  await expectRows(page, 1)
  await page.goto(`/app/requests?id_contains=${entries[3]?.requestId.slice(-10)}`)
  await expectRows(page, 1)
  await expectNoViolations(page)
})

test('a filter that is too long or no amount shows an error at its field: no list and no call', async () => {
  const { page, complaints } = await openCustomer()
  for (const [filter, error] of [
    [`model=${'x'.repeat(10_000)}`, 'Слишком длинный текст, предел — 253'],
    [`error_code=${'x'.repeat(10_000)}`, 'Слишком длинный текст, предел — 253'],
    [`id_contains=${'x'.repeat(10_000)}`, 'Слишком длинный текст, предел — 64'],
    ['cost_from=much', 'Сумма в рублях'],
    ['cost_from=2&cost_to=1', 'Меньше начала'],
    ['status=600', 'Код ответа, например 429'],
  ] as const) {
    await page.goto(`/app/requests?${filter}`)
    await page.getByText(error).waitFor()
    await page.getByText('Один из фильтров заполнен неверно').waitFor()
    expect(await listOf(page).count()).toBe(0)
  }
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Сбросить фильтры' }).click()
  await rowsOf(page).first().waitFor()
  expect(complaints).toEqual([])
})

test('a rejection appears among the requests by itself, with its reason, and links to its explanation', async () => {
  const { page, keys } = await openCustomer()
  await page.goto('/app/requests')
  await expectRows(page, 12)
  await page.getByText(/Отклонённые запросы хранятся 7 дней, не больше 1\s000/).waitFor()
  const sent = await vi.waitFor(async () => {
    const response = await fetch(`${system.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${keys[0]?.secret}` },
      body: JSON.stringify({ model: 'no/such', messages: [{ role: 'user', content: 'hi' }] }),
    })
    expect(response.status).toBe(404)
    return response
  }, 10_000)
  const requestId = sent.headers.get('x-gateway-request-id') ?? ''
  const row = rowsOf(page).filter({ hasText: 'no/such' }).first()
  await row.getByText('Такой модели нет, или она не открыта организации').waitFor({ timeout: 15_000 })
  await page.getByLabel('Итог').selectOption('rejection')
  await expect.poll(() => rowsOf(page).filter({ hasNotText: 'no/such' }).count(), { timeout: 10_000 }).toBe(0)
  await expectNoViolations(page)
  await listOf(page).locator(`a[href="/app/requests/${requestId}"]`).click()
  await page.getByRole('heading', { name: 'Запрос отклонён' }).waitFor()
})

test('on a phone each request is two lines, and nothing is wider than the screen', async () => {
  const { page } = await openCustomer({ width: 320 })
  await page.goto('/app/requests')
  await expectRows(page, 12)
  for (const row of await rowsOf(page).all()) expect((await row.boundingBox())?.height).toBeLessThan(72)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  await expectNoViolations(page)
})

test('a result of an attempt is a sentence with its word, known or not', async () => {
  const { page, entries } = await openCustomer({ language: 'en' })
  const [entry] = entries
  if (entry === undefined) throw new Error('no entry')
  const attempts = ['status_500', 'client_gone', 'some_future_word'].map((result) => ({
    model: 'm',
    provider: 'p',
    backend: 'b',
    result,
    ms: 1,
  }))
  const requestId = uuidV7(noonMs(1))
  await postBatch(pool, [{ ...entry, requestId, record: { ...entry.record, attempts } }])
  await page.goto(`/app/requests/${requestId}`)
  for (const text of ['The provider returned HTTP 500', 'The client disconnected', 'Unsuccessful'])
    await page.getByText(text, { exact: true }).waitFor()
  for (const { result } of attempts) await page.getByText(result, { exact: true }).waitFor()
})
