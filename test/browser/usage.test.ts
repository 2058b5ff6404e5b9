import type { Locator, Page } from 'playwright-core'
import { afterAll, expect, test, vi } from 'vitest'
import { addRubles, nanoOf } from '#cabinet/pages/money/rubles'
import { postBatch } from '#core/ledger/post-batch'
import { entryOf, recordOf, uuidV7 } from '../support/customer.ts'
import { settle } from './addresses.ts'
import { expectNoViolations } from './axe.ts'
import { keyboard, touch } from './hand.ts'
import { callFrom, openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register, signInOwner, system } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

const dayMs = 86_400_000
const moscowMs = 3 * 3_600_000
/** Midnight in Moscow, some days ago. */
const midnightMs = (daysAgo: number) =>
  (Math.floor((Date.now() + moscowMs) / dayMs) - daysAgo) * dayMs - moscowMs
const halfAnHourMs = 30 * 60_000

const costs = ['0.123456789', '0.000000001', '0.999999999', '0.3'] as const

/** A user with requests half an hour before and after midnight in Moscow, to two models. */
async function customerWithRequests(page: Page, keyName = 'night') {
  await register(page)
  const made = await callFrom(page, 'POST', '/keys', { name: keyName })
  expect(made.status).toBe(201)
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  const customer = { organizationId: me.organization.id, keyId: JSON.parse(made.text).key.id, key: '' }
  const ids = costs.map((_, at) => uuidV7(midnightMs(2) + (at % 2 === 0 ? -halfAnHourMs : halfAnHourMs) + at))
  await postBatch(
    pool,
    costs.map((cost, at) =>
      entryOf(customer, nanoOf(cost), {
        requestId: ids[at] ?? '',
        record: recordOf({
          modelRan: at < 2 ? 'demo/echo' : 'demo/slow',
          tokens: { input: 1_000, output: at },
        }),
      }),
    ),
  )
  return { ids }
}

async function sumIn(cells: Locator, attribute: string): Promise<string> {
  const sums = await Promise.all((await cells.all()).map((cell) => cell.getAttribute(attribute)))
  return addRubles(...sums.map((sum) => sum ?? 'none'))
}

test('bars, parts, table, file and ledger have the same sum around midnight in Moscow, digit by digit', async () => {
  const { page, complaints } = await openBrowser()
  await customerWithRequests(page)
  const whole = addRubles(...costs)
  for (const [query, filled] of [
    ['range=week', 2],
    ['range=week&bucket=hour&group=key', 2],
  ] as const) {
    await page.goto(`/app/usage?${query}`)
    const chart = page.getByRole('img', { name: /Динамика расхода/ })
    await chart.waitFor()
    const bars = chart.locator('g[data-value]')
    expect(await sumIn(bars, 'data-value')).toBe(whole)
    expect(await sumIn(chart.locator('rect[data-value]'), 'data-value')).toBe(whole)
    expect(await chart.locator('g[data-value]:not([data-value="0"])').count()).toBe(filled)
    const table = page.getByRole('table', { name: 'По времени' })
    expect(await sumIn(table.locator('tbody data'), 'value')).toBe(whole)
    const href = await page.getByRole('link', { name: 'Скачать CSV' }).getAttribute('href')
    const { text } = await callFrom(page, 'GET', (href ?? '').replace('/api/v1', ''))
    const lines = text.trimEnd().split('\r\n').slice(1)
    const place = text.slice(0, text.indexOf('\r')).split(',').indexOf('cost_rub')
    expect(addRubles(...lines.map((line) => line.split(',')[place] ?? ''))).toBe(whole)
    expect(lines).toHaveLength(await table.locator('tbody tr').count())
  }
  const ledger = await readFrom<{ readonly data: readonly { readonly amount_rub: string }[] }>(
    page,
    '/ledger?kind=charge',
  )
  expect(addRubles(...ledger.data.map(({ amount_rub }) => amount_rub))).toBe(`-${whole}`)
  expect(complaints).toEqual([])
})

test('the chart shows cost, requests, tokens and the share of the cache, by months too, compared with the period before', async () => {
  const { page, complaints } = await openBrowser()
  await customerWithRequests(page)
  await page.goto('/app/usage?range=week')
  await page
    .getByText(/Период .+: ничего не было/)
    .first()
    .waitFor()
  for (const [metric, title, total] of [
    ['Запросы', 'Динамика запросов', /^За весь период: 4$/],
    ['Токены', 'Динамика токенов', /^За весь период: 4\s006/],
    ['Доля кэша', 'Доля ввода из кэша', /^За весь период: 0\s%/],
  ] as const) {
    await page.getByRole('button', { name: metric, exact: true }).click()
    await page.getByRole('region', { name: title }).getByText(total).waitFor()
  }
  await page.getByRole('button', { name: 'По месяцам' }).click()
  await page.waitForURL('**/app/usage?range=week&metric=cache&bucket=month')
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Прошлый месяц' }).click()
  await page.waitForURL('**/app/usage?range=last_month&metric=cache')
  expect(complaints).toEqual([])
})

test('errors, durations and providers each lead to exactly the requests that they count, on a small screen too', async () => {
  const { page, complaints } = await openBrowser()
  await register(page)
  const made = await callFrom(page, 'POST', '/keys', { name: 'errors' })
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  const customer = { organizationId: me.organization.id, keyId: JSON.parse(made.text).key.id, key: '' }
  const attempts = (provider: string) => [{ model: 'm', provider, backend: 'b', result: 'answered', ms: 1 }]
  const records = [
    ...Array.from({ length: 3 }, () => recordOf({ attempts: attempts('acme'), totalMs: 2_400 })),
    recordOf({ attempts: attempts('acme'), outcome: 'failed', status: 502, errorCode: 'upstream_error' }),
    recordOf({ attempts: [], outcome: 'client_gone', status: 499 }),
  ]
  await postBatch(
    pool,
    records.map((record, at) =>
      entryOf(customer, BigInt(at + 1), { requestId: uuidV7(midnightMs(2) + at), record }),
    ),
  )
  const rows = page.getByRole('table', { name: 'Запросы' }).locator('tbody tr:has(th[scope=row])')
  const table = page.getByRole('table', { name: 'По провайдерам за период' })
  for (const [metric, figure, count] of [
    ['cost', 'Провайдер не вызывался', 1],
    ['cost', 'acme', 4],
    ['errors', '1', 1],
    ['p50', '2,3\u00a0с', 3],
    ['p95', '2,5\u00a0с', 3],
  ] as const) {
    await page.goto(`/app/usage?range=week&group=provider&metric=${metric}`)
    const link = table.getByRole('link', { name: figure, exact: true })
    await link.waitFor()
    if (metric === 'errors') await expectNoViolations(page)
    await page.setViewportSize({ width: 320, height: 800 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    await page.setViewportSize({ width: 1_280, height: 800 })
    await link.press('Enter')
    await page.waitForURL('**/app/requests?**')
    await expect.poll(() => rows.count(), { message: figure }).toBe(count)
  }
  expect(complaints).toEqual([])
})

test('where errors were not counted yet, the page shows that there are no data, not zero', async () => {
  const { page } = await openBrowser()
  await customerWithRequests(page)
  await page.goto('/app/usage?range=week&metric=errors')
  await page.getByRole('slider').press('Home')
  expect(await page.getByRole('slider').getAttribute('aria-valuetext')).toMatch(/: 0$/)
  await page.getByText(/За этот период: 0\sотклонённых запросов/).waitFor()
  await pool.query("update usage_since set at = date_trunc('hour', $1::timestamptz)", [
    new Date(midnightMs(1)),
  ])
  try {
    await page.reload()
    await page.getByText(/^Ошибки, длительность и провайдеры учитываются с /).waitFor()
    await page.getByRole('slider').press('Home')
    expect(await page.getByRole('slider').getAttribute('aria-valuetext')).toMatch(/: нет данных$/)
    await expectNoViolations(page)
  } finally {
    await pool.query("update usage_since set at = '-infinity'")
  }
})

test('the running balance ends at the balance in the header', async () => {
  const { page } = await openBrowser()
  await customerWithRequests(page)
  await page.goto('/app/billing/history')
  const first = page.getByRole('region', { name: 'История баланса' }).getByRole('row').nth(1)
  const ends = await first.locator('data').last().getAttribute('value')
  expect(ends).toBe(await page.getByRole('banner').locator('data').getAttribute('value'))
})

test('arrow keys move from bar to bar, and a bar links to its requests and their receipts', async () => {
  const { page } = await openBrowser()
  const { ids } = await customerWithRequests(page)
  await page.goto('/app/usage?range=week')
  const scrubber = page.getByRole('slider')
  await scrubber.focus()
  await page.keyboard.press('End')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  expect(await scrubber.getAttribute('aria-valuetext')).toMatch(/0,30\s₽/)
  await page.getByRole('link', { name: 'Показать запросы' }).click()
  await page.getByRole('heading', { name: 'Запросы', level: 1 }).waitFor()
  const rows = page.getByRole('table', { name: 'Запросы' }).locator('tbody tr:has(th[scope=row])')
  await rows.first().waitFor()
  expect(await rows.count()).toBe(2)
  await expectNoViolations(page)
  await rows.first().getByRole('link').click()
  await page.waitForURL(`**/app/requests/${ids[3]}`)
  await page.getByText('Токены посчитал провайдер.').waitFor()
  await expectNoViolations(page)
})

test('a tap, a click, the mouse and the keyboard choose exactly the bar under them, today too', async () => {
  const { page } = await openBrowser({ width: 390 }, { hasTouch: true })
  await customerWithRequests(page)
  await page.goto('/app/usage?range=week')
  const scrubber = page.getByRole('slider')
  const chart = page.getByRole('img', { name: /Динамика расхода/ })
  await chart.evaluate((drawing) => drawing.scrollIntoView({ block: 'center' }))
  const bars = chart.locator('g[data-value]')
  const { x, y, width } = (await scrubber.boundingBox()) ?? { x: 0, y: 0, width: 0 }
  const chosen = () =>
    bars.evaluateAll((all) => all.map((bar) => (bar.matches('.opacity-40') ? '-' : 'x')).join(''))
  const only = (index: number) => `${'-'.repeat(index)}x${'-'.repeat(6 - index)}`
  const todayFirst = [6, 0, 3, 1, 5, 2, 4, 6]
  const ways = {
    tap: (at: number) => page.touchscreen.tap(at, y + 40),
    click: (at: number) => page.mouse.click(at, y + 40),
    hover: (at: number) => page.mouse.move(at, y + 40),
  }
  for (const [way, choose] of Object.entries(ways))
    for (const index of todayFirst)
      for (const part of [0.1, 0.9]) {
        await choose(x + ((index + part) / 7) * width)
        await expect.poll(chosen, { message: `${way} of bar ${index}` }).toBe(only(index))
      }
  for (const [key, index] of [
    ['End', 6],
    ['Home', 0],
    ['ArrowLeft', 6],
    ['ArrowRight', 0],
  ] as const) {
    await scrubber.press('Escape')
    expect(await scrubber.getAttribute('aria-valuetext')).toBe('За весь период')
    await scrubber.press(key)
    expect(await chosen(), key).toBe(only(index))
  }
  await expectNoViolations(page)
})

test('every digit of the big sums is shown by a tap or the keyboard, and nothing moves', async () => {
  const { page } = await openBrowser({ width: 390 }, { hasTouch: true })
  await customerWithRequests(page)
  for (const [address, hand] of [
    ['/app', touch],
    ['/app/billing', touch],
    ['/app/billing', keyboard],
    ['/app/usage?range=week', keyboard],
  ] as const) {
    await page.goto(address)
    const sum = page
      .getByRole('main')
      .getByRole('button', { name: /₽ — показать точно/ })
      .first()
    const exact = page.getByText(/^Точно: -?[\d\s]+,\d{9}.₽$/)
    const placesOf = () =>
      page
        .locator('main p, main h2')
        .evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().top + scrollY)))
    await sum.waitFor()
    await settle(page)
    const before = await placesOf()
    await hand.press(sum)
    await exact.waitFor()
    expect(await placesOf()).toEqual(before)
    await page.keyboard.press('Escape')
    await exact.waitFor({ state: 'detached' })
    await expectNoViolations(page)
  }
})

test('an id from x-gateway-request-id leads to the receipt, and an unsettled one appears automatically', async () => {
  const { page } = await openBrowser()
  await register(page)
  const made = await callFrom(page, 'POST', '/keys', { name: 'late' })
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  const requestId = uuidV7()
  await page.goto(`/app/requests?request_id=${requestId}`)
  await page.getByRole('heading', { name: 'Запрос ещё не рассчитан' }).waitFor()
  await expectNoViolations(page)
  const customer = { organizationId: me.organization.id, keyId: JSON.parse(made.text).key.id, key: '' }
  await postBatch(pool, [entryOf(customer, 0n, { requestId })]) // a free model: no ledger entry, no hint
  await page.getByText('Ответ передан полностью.').waitFor()
})

test('any id that a rejected request returned leads to its rejection; an old one and a foreign one are explained', async () => {
  const { page } = await openBrowser()
  await register(page)
  const made = await callFrom(page, 'POST', '/keys', { name: 'newcomer' })
  const { key, secret } = JSON.parse(made.text)
  await callFrom(page, 'POST', `/keys/${key.id}/block`)
  const response = await vi.waitFor(async () => {
    const sent = await fetch(`${system.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'no/such', messages: [] }),
    })
    expect(sent.status).toBe(403)
    return sent
  })
  const requestId = response.headers.get('x-gateway-request-id') ?? ''
  await page.goto('/app/requests')
  await page.getByLabel('Номер запроса').fill(` ${requestId.toUpperCase()} `)
  await page.getByRole('button', { name: 'Открыть' }).click()
  await page.getByRole('heading', { name: 'Запрос отклонён' }).waitFor()
  await page.getByText('Ключ заблокирован').waitFor()
  await expectNoViolations(page)
  await page.goto(`/app/requests/chatcmpl-${requestId}`)
  await page.getByRole('link', { name: 'newcomer' }).waitFor()
  await page.goto('/app/requests/01900000-0000-7000-8000-000000000000')
  await page.getByRole('heading', { name: 'Квитанции нет, запрос старше 7 дней' }).waitFor()
  await expectNoViolations(page)

  const stranger = await openBrowser()
  await register(stranger.page)
  await stranger.page.goto(`/app/requests/${requestId}`)
  await stranger.page.getByRole('heading', { name: 'Запрос ещё не рассчитан' }).waitFor()
})

test('an impossible request id is rejected at once, without a call', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/requests/')) asked.push(request.url())
  })
  await page.goto('/app/requests/abc')
  await page.getByRole('heading', { name: 'Такого запроса нет' }).waitFor()
  await expectNoViolations(page)
  expect(asked).toEqual([])
})

test('the page stops waiting for a request that is never settled, and one click checks again', async () => {
  const { page } = await openBrowser()
  await page.clock.install()
  await signInOwner(page)
  await page.goto(`/app/requests/${uuidV7()}`)
  await page.getByRole('heading', { name: 'Запрос ещё не рассчитан' }).waitFor()
  for (let asked = 0; asked < 3; asked++) {
    const answered = page.waitForResponse('**/api/v1/refusals/*')
    await page.clock.runFor(4_000)
    await answered
  }
  await page.clock.fastForward(10 * 60_000 - 11_000)
  await page.getByRole('heading', { name: 'Запрос не найден' }).waitFor()
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Проверить ещё раз' }).click()
  await page.getByRole('heading', { name: 'Запрос ещё не рассчитан' }).waitFor()
})

test('filters are in the address, an empty result is one sentence, and invalid filters do no harm', async () => {
  const { page, complaints } = await openBrowser()
  await customerWithRequests(page)
  await page.goto('/app/requests')
  // Until the models are loaded, what is typed is a part of a name.
  await page.locator('datalist option[value="demo/echo"]').first().waitFor({ state: 'attached' })
  await page.getByLabel('Модель').fill('demo/echo')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/app/requests?model=demo%2Fecho')
  await page.getByLabel('Итог').selectOption('failed')
  await page.getByText('По этим условиям запросов не нашлось.').waitFor()
  expect(new URL(page.url()).searchParams.get('outcome')).toBe('failed')
  await page.getByRole('button', { name: 'Сбросить фильтры' }).click()
  await page.getByRole('table', { name: 'Запросы' }).waitFor()
  await page.goto('/app/requests?from=never&key_id=%3Cscript%3E&outcome=toString&to=2026-02-30')
  await page.getByRole('table', { name: 'Запросы' }).waitFor()
  await page.goto('/app/usage?range=custom&from=2026-11-22&to=2026-11-01')
  await page.getByText('Начало периода позже конца').waitFor()
  await expectNoViolations(page)
  expect(complaints).toEqual([])
})

test("any of 201 keys filters the requests by its name, and the filter shows the name of the address's key", async () => {
  const { page, complaints } = await openBrowser()
  await customerWithRequests(page, 'Oldest of all')
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  await pool.query(
    `insert into api_keys (id, organization_id, name, managed_by)
     select gen_random_uuid(), $1, 'newer ' || n, 'cabinet' from generate_series(1, 200) n`,
    [me.organization.id],
  )
  await page.goto('/app/requests')
  const filter = page.getByLabel('Ключ', { exact: true })
  await filter.fill('newer 7')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/app/requests?key_id=*')
  await page.getByText('По этим условиям запросов не нашлось.').waitFor()
  await filter.fill('nobody’s')
  await page.keyboard.press('Enter')
  await page.getByText('Такого ключа нет').waitFor()
  await filter.fill('newer')
  await page.keyboard.press('Enter')
  await page.getByText('Подходят несколько ключей').waitFor()
  await filter.fill('OLDEST')
  await page.locator('datalist option[value="Oldest of all"]').first().waitFor({ state: 'attached' })
  await filter.fill('Oldest of all') // as the list of suggestions does
  await page.getByRole('table', { name: 'Запросы' }).waitFor()
  await page.reload()
  await expect.poll(() => filter.inputValue(), { timeout: 10_000 }).toBe('Oldest of all')
  await expectNoViolations(page)
  await filter.fill('')
  await page.waitForURL('**/app/requests')

  await page.goto('/app/keys')
  await page.getByLabel('Найти ключ по названию').fill('oldest')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/app/keys?q=oldest')
  const rows = page.getByRole('table', { name: 'Все ключи' }).locator('tbody tr')
  await rows.first().waitFor()
  await expect.poll(() => rows.count()).toBe(1)
  await page.reload()
  await page.getByRole('link', { name: 'Oldest of all' }).waitFor()
  await expectNoViolations(page)
  await page.getByLabel('Найти ключ по названию').fill('nobody’s')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Показать все' }).click()
  await expect.poll(() => rows.count()).toBe(50)
  expect(complaints).toEqual([])
})

test('a period that ends before it begins shows an error at its filter: no list, no skeleton, no file, and a way back', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  for (const address of [
    '/app/billing/history?from=2026-11-20&to=2026-11-10',
    '/app/requests?from=2026-11-20&to=2026-11-10',
    '/app/requests?from=2026-11-23T00:00:00Z&to=2026-11-22T00:00:00Z',
    '/app/requests?from=2026-11-23&to=2026-11-22T00:00:00Z',
  ]) {
    await page.goto(address)
    const list = page.getByRole('region', { name: /^(История баланса|Запросы)$/ })
    await list.getByText('Начало периода позже конца').waitFor()
    await expect.poll(() => list.locator('.breathing').count()).toBe(0)
    expect(await list.getByRole('table').count()).toBe(0)
    expect(await page.getByRole('link', { name: /^Скачать/ }).count()).toBe(0)
    await expectNoViolations(page)
    await list.getByRole('button', { name: 'Сбросить фильтры' }).click()
    await list.getByRole('table').waitFor()
    expect(new URL(page.url()).search).toBe('')
  }
})

test('on a phone filters are folded and show how many are set; their errors stay visible', async () => {
  const { page } = await openBrowser({ width: 390 })
  await signInOwner(page)
  await page.goto('/app/requests?outcome=failed&from=2026-01-01')
  const fold = page.getByRole('button', { name: 'Фильтры: 2', exact: true })
  const outcome = page.getByLabel('Итог', { exact: true })
  await fold.waitFor()
  expect(await outcome.isVisible()).toBe(false)
  await fold.click()
  await outcome.selectOption('')
  await page.getByRole('button', { name: 'Фильтры: 1', expanded: true }).click()
  expect(await outcome.isVisible()).toBe(false)
  await page.goto('/app/requests?from=2026-02-01&to=2026-01-01')
  await page.getByText('Начало периода позже конца').waitFor()
  await page.setViewportSize({ width: 1280, height: 800 })
  await outcome.waitFor()
  expect(await page.getByRole('button', { name: /Фильтры/ }).count()).toBe(0)
})

test('a name that begins with = is text in a file, and one with a tag is text on the page', async () => {
  const { page, complaints } = await openBrowser()
  const name = '=1+1<script>alert(1)</script>'
  await customerWithRequests(page, name)
  const { text } = await callFrom(page, 'GET', '/requests.csv')
  expect(text).toContain(`'${name}`)
  await page.goto('/app/usage?group=key')
  await page.getByRole('table', { name: 'По ключам' }).getByText(name).waitFor()
  expect(complaints).toEqual([])
})

test('a usage page without requests has a message, and axe finds nothing', async () => {
  const { page } = await openBrowser({ language: 'en' })
  await register(page)
  await page.goto('/app/usage')
  await page.getByText('No requests in this period.').waitFor()
  await expectNoViolations(page)
  await page.goto('/app/requests')
  await page.getByText('No requests yet.').waitFor()
  await expectNoViolations(page)
})
