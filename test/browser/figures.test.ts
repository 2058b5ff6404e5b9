import type { Locator } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { nanoOf } from '#cabinet/pages/money/rubles'
import { postBatch } from '#core/ledger/post-batch'
import { entryOf, uuidV7 } from '../support/customer.ts'
import { settle } from './addresses.ts'
import { callFrom, openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

const dayMs = 86_400_000
const moscowMs = 3 * 3_600_000

/** Half an hour before the Moscow day began. */
const yesterdayMs = () => Math.floor((Date.now() + moscowMs) / dayMs) * dayMs - moscowMs - 30 * 60_000

/** A new user with a key of this budget. */
async function openCustomer(budget: string) {
  const visitor = await openBrowser()
  const { page } = visitor
  await register(page)
  const made = await callFrom(page, 'POST', '/keys', { name: 'nearly done', daily_budget_rub: budget })
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  const customer = { organizationId: me.organization.id, keyId: JSON.parse(made.text).key.id, key: '' }
  const book = (costs: readonly string[], atMs: number, keyId = customer.keyId) =>
    postBatch(
      pool,
      costs.map((cost, index) =>
        entryOf({ ...customer, keyId }, nanoOf(cost), {
          requestId: uuidV7(atMs + index),
          day: Math.floor((atMs + moscowMs) / dayMs),
        }),
      ),
    )
  return { ...visitor, book, organizationId: me.organization.id }
}

test('the overview compares today with yesterday and shows the keys near their budget, and no others', async () => {
  const { page, book } = await openCustomer('2')
  await callFrom(page, 'POST', '/keys', { name: 'far from it', daily_budget_rub: '1000' })
  await book(['0.25'], yesterdayMs() - dayMs)
  await book(['0.55'], yesterdayMs())
  await book(['1.2', '0.6'], Date.now())
  await page.goto('/app')
  const figure = (label: string) => page.getByRole('main').getByText(label, { exact: true }).locator('..')
  await figure('Потрачено сегодня').waitFor()
  const sums = await figure('Потрачено сегодня').locator('data').all()
  expect(await Promise.all(sums.map((sum) => sum.getAttribute('value')))).toEqual(['1.8', '0.55'])
  expect(await figure('Запросов сегодня').locator('p').allTextContents()).toEqual([
    'Запросов сегодня',
    '2',
    'Вчера за весь день: 1',
  ])
  const near = page.getByRole('region', { name: 'Ключи, близкие к бюджету' })
  await near.getByRole('listitem').filter({ hasText: 'nearly done' }).waitFor()
  expect(await near.getByRole('listitem').count()).toBe(1)
  const spent = await near.locator('data').all()
  expect(await Promise.all(spent.map((sum) => sum.getAttribute('value')))).toEqual(['1.8', '2'])
  await near
    .getByRole('progressbar', { name: 'nearly done: израсходовано 90\u00a0% бюджета на день' })
    .waitFor()
  await near.getByRole('link', { name: 'nearly done' }).click()
  await page.getByRole('link', { name: 'запросы ключа' }).click()
  await page.waitForURL(/\/app\/requests\?key_id=[^&]+&from=(\d{4}-\d\d-\d\d)&to=\1&type=request$/)
  await page.getByText(/^Рассчитано: 2\sзапроса,/).waitFor()
})

test('the overview reads the balance once, unless it has just changed', async () => {
  const { page } = await openBrowser()
  await register(page)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  const load = async () => {
    asked.length = 0
    await page.goto('/app')
    await settle(page)
    return asked.filter((path) => path === '/api/v1/balance').length
  }
  // The trial was credited a moment ago, and on a slow machine the page polls until it hears the stream.
  await expect.poll(load, { timeout: 50_000 }).toBe(1)
})

test('a new customer’s overview shows only what helps to start; afterwards 30 days of spending, each figure with the requests behind it', async () => {
  const { page, book } = await openCustomer('1000')
  await page.goto('/app')
  const regions = page.getByRole('main').getByRole('region')
  await regions.first().waitFor()
  await settle(page)
  expect(await regions.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['С чего начать'])
  expect(await page.getByText('Потрачено сегодня').count()).toBe(0)

  const weekly = await callFrom(page, 'POST', '/keys', { name: 'of the week', weekly_budget_rub: '2' })
  await book(['0.25'], yesterdayMs() - 28 * dayMs)
  await book(['100'], yesterdayMs() - 29 * dayMs)
  await book(['1.2'], Date.now())
  await book(['1.7'], Date.now(), JSON.parse(weekly.text).key.id)
  await page.reload()
  const near = page.getByRole('region', { name: 'Ключи, близкие к бюджету' }).getByRole('listitem')
  await near.filter({ hasText: 'of the week' }).waitFor()
  expect(await near.count()).toBe(1)
  expect(await near.first().textContent()).toMatch(/1,70.₽ из 2,00.₽ на неделю/)
  const spending = page.getByRole('region', { name: 'Расход за 30 дней' })
  const days = spending.locator('svg [data-day]')
  expect(await days.count()).toBe(30)
  expect([
    await days.first().getAttribute('data-value'),
    await days.last().getAttribute('data-value'),
    await spending.locator('dd data').first().getAttribute('value'),
  ]).toEqual(['0.25', '2.9', '3.15'])
  expect(await spending.getByRole('img').getAttribute('aria-label')).toMatch(
    /всего 3,15.₽\. Больше всего — .+: 2,90.₽\.$/,
  )
  expect(await spending.getByRole('list', { name: 'Расход по дням' }).getByRole('listitem').count()).toBe(30)
  for (const [name, requests, cost] of [
    ['of the week', 1, '1,70'],
    ['nearly done', 2, '1,45'],
    ['demo/echo', 3, '3,15'],
  ] as const) {
    await page.goto('/app')
    await spending.getByRole('link', { name, exact: true }).click()
    await page.getByText(new RegExp(`^Рассчитано: ${requests}\\s.+${cost}`)).waitFor()
    expect(await page.getByRole('table').locator('tbody tr:has(td)').count()).toBe(requests)
  }
  await page.goto('/app')
  await spending.getByRole('link', { name: 'По дням и подробнее' }).click()
  await page.getByText('Совпадает с историей баланса').waitFor()
  expect(await page.getByRole('main').locator('p data').first().getAttribute('value')).toBe('3.15')

  await page.goto('/app/keys')
  await page.getByRole('link', { name: 'nearly done' }).click()
  const latest = page.getByRole('region', { name: 'Последние запросы и отказы' })
  await latest.getByRole('table').waitFor()
  const costs = await latest
    .locator('td data')
    .evaluateAll((all) => all.map((each) => each.getAttribute('value')))
  expect(costs).toEqual(['1.2', '0.25', '100'])
  expect(await spending.locator('dd data').first().getAttribute('value')).toBe('1.45')
  for (const link of ['Показать эти запросы', 'demo/echo', '2']) {
    await spending.getByRole('link', { name: link, exact: true }).click()
    await page.getByText(/^Рассчитано: 2\s.+1,45/).waitFor()
    expect(await page.getByRole('table').locator('tbody tr:has(td)').count()).toBe(2)
    await page.goBack()
    await latest.getByRole('table').waitFor()
  }
  await latest.getByRole('link', { name: 'Все запросы и отказы' }).click()
  await page.waitForURL(/\/app\/requests\?key_id=[0-9a-f-]{36}$/)
  await expect.poll(() => page.getByRole('table').locator('tbody tr:has(td)').count()).toBe(3)
})

test('the usage page names the zone of its days and hours', async () => {
  const { page, organizationId } = await openCustomer('2')
  await page.goto('/app/usage')
  await page.getByText('Дни и часы: МСК', { exact: true }).waitFor()
  const zone = 'Asia/Yekaterinburg'
  await pool.query('update organizations set time_zone = $2 where id = $1', [organizationId, zone])
  await page.reload()
  await page.getByText('Дни и часы: UTC+5', { exact: true }).waitFor()
})

test('in a column of sums the points align, with tabular digits', async () => {
  const { page, book } = await openCustomer('900000')
  await book(['1111.1', '0.000000001', '88.25', '7'], Date.now())
  for (const [address, name, column] of [
    ['/app/requests', 'Запросы', 'Стоимость'],
    ['/app/billing/history', 'История баланса', 'Сумма'],
  ] as const) {
    await page.goto(address)
    const table = page.getByRole('table', { name })
    await table.getByRole('row').nth(4).waitFor()
    const points = await pointsIn(table, column)
    expect(points.length, address).toBeGreaterThanOrEqual(4)
    const places = points.map(({ x }) => x)
    expect(Math.max(...places) - Math.min(...places), address).toBeLessThan(0.5)
    expect(points.map(({ figures }) => figures)).toEqual(points.map(() => 'tabular-nums'))
  }
})

/** The position in pixels of each decimal point of a column, and the kind of digits. */
function pointsIn(table: Locator, column: string) {
  return table.evaluate((drawn, head) => {
    const index = [...drawn.querySelectorAll('thead th')].findIndex(
      (cell) => (cell.querySelector('button') ?? cell).textContent === head,
    )
    return [...drawn.querySelectorAll('tbody tr')].flatMap((row) => {
      const sum = row.children[index]?.querySelector('data')
      const text = sum?.firstChild
      if (sum == null || text == null) return []
      const range = document.createRange()
      const at = (text.textContent ?? '').indexOf(',')
      range.setStart(text, at)
      range.setEnd(text, at + 1)
      return [{ x: range.getBoundingClientRect().left, figures: getComputedStyle(sum).fontVariantNumeric }]
    })
  }, column)
}

test('on paper a page has its content, dark on white, within the sheet, without bars and controls', async () => {
  const { page, book } = await openCustomer('2')
  await book(['1.25'], Date.now())
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  await page.setViewportSize({ width: 1_047, height: 718 }) // A4, landscape, without its margins of 10 mm, at 96 dpi
  for (const path of ['/app/usage', '/app/billing/history', '/app/requests']) {
    await page.goto(path)
    const main = page.getByRole('main')
    await main.getByRole('table').first().waitFor()
    await main.locator('data:visible').first().waitFor()
    expect(await page.locator(':is(nav, [role="banner"], body > div > header):visible').count()).toBe(0)
    const controls = ':is(input, select, button:not([aria-expanded], [aria-pressed="true"])):visible'
    expect(await main.locator(controls).count()).toBe(0)
    const labels = main.locator('fieldset:visible')
    expect(await labels.locator('button:visible').count()).toBe(await labels.count())
    await main.getByRole('columnheader').first().waitFor() // tables keep their columns
    const shown = await page.evaluate(() => ({
      overflow: document.documentElement.scrollWidth - innerWidth,
      ink: getComputedStyle(document.body).color,
    }))
    expect(shown).toEqual({ overflow: 0, ink: 'rgb(20, 26, 25)' })
  }
})
