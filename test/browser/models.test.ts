import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Cookie, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPool } from '#core/db/pool'
import { createModel, createProvider } from '../support/catalog.ts'
import { databaseUrlOf, type Standalone, startStandalone } from '../support/standalone.ts'
import { expectNoViolations } from './axe.ts'
import { findOverflow } from './page-faults.ts'
import { openBrowser, signIn } from './visitor.ts'

const modelCount = 500

/** Separate servers: other tests should not see five hundred models. */
let catalog: Standalone
let pool: Pool
const dataDir = mkdtempSync(join(tmpdir(), 'mg-models-'))

beforeAll(async () => {
  catalog = await startStandalone({ DATA_DIR: dataDir })
  pool = createPool({ databaseUrl: databaseUrlOf(catalog), applicationName: 'test' })
  await createProvider(pool, { name: 'acme', baseUrl: catalog.baseUrl, country: 'KZ' })
  for (let n = 0; n < modelCount; n += 1)
    await createModel(pool, `acme/model-${n}`, 'acme', {
      displayName: `Acme ${n}`,
      contextLength: n < 20 ? 1_000_000 : 32_000,
      inputNano: BigInt(10_000 + n),
      inputModalities: n % 100 === 0 ? ['text', 'image'] : ['text'],
      ...(n % 100 === 1 && { capabilities: ['tools', 'structured_output'] }),
    })
  await putFullPrice('acme/model-1')
}, 120_000)

afterAll(async () => {
  await pool.end()
  await catalog.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** A price with every class and odd digits, and a scheduled one. */
async function putFullPrice(model: string): Promise<void> {
  const insert = `insert into model_prices
      (id, model, scheduled, valid_from, input, cached_input, cache_write, output, reasoning, per_request)`
  await pool.query(
    `${insert} values (gen_random_uuid(), $1, false, clock_timestamp(), 12347, 1231, 15433, 98765, 77777, 123456789)`,
    [model],
  )
  await pool.query(
    `${insert} values (gen_random_uuid(), $1, true, clock_timestamp() + interval '1 day', 22000, null, null, 44000, null, 0)`,
    [model],
  )
}

let cookies: readonly Cookie[] = []

/** Opens a page as the owner of the demo's organization. */
async function openCatalog(path: string, look: Parameters<typeof openBrowser>[0] = {}) {
  const visitor = await openBrowser(look, { baseURL: catalog.cabinetUrl })
  const { page } = visitor
  await page.context().addCookies(cookies)
  if (cookies.length === 0) {
    await signIn(page, catalog.cabinet?.user ?? '', catalog.cabinet?.password ?? '')
    cookies = (await page.context().cookies()).filter(({ name }) => name.endsWith('_session'))
  }
  await page.goto(path)
  return visitor
}

const isRowSeen = `[...document.querySelectorAll('main tbody tr')].filter(
  (row) => row.getBoundingClientRect().bottom <= innerHeight).length`

const foundIn = (page: Page, count: string) => page.getByRole('status').filter({ hasText: count }).waitFor()

test('filters are in the address, survive a reload, and follow Back', async () => {
  const { page, complaints } = await openCatalog('/app/models')
  await foundIn(page, '504 модели')
  await page.getByLabel('Поиск').fill('acme 1')
  await page.getByLabel('Контекст').selectOption('1000000')
  await page.waitForURL('**/app/models?q=acme+1&context=1000000')
  await foundIn(page, '11 моделей')

  await page.reload()
  await foundIn(page, '11 моделей')
  expect(await page.getByLabel('Поиск').inputValue()).toBe('acme 1')
  expect(await page.getByLabel('Контекст').inputValue()).toBe('1000000')

  await page.getByRole('link', { name: 'Acme 1', exact: true }).click()
  await page.getByRole('heading', { name: 'Acme 1', level: 1 }).waitFor()
  expect(await page.title()).toBe('Acme 1 · Model Gateway')
  await page.goBack()
  await foundIn(page, '11 моделей')
  expect(complaints).toEqual([])
})

test('each filter shows its value, in any combination that an address may have', async () => {
  const { page } = await openCatalog('/app/models?modality=image')
  await foundIn(page, '5 моделей')
  for (const [search, count] of [
    ['?kind=embedding', '1 модель'],
    ['?provider=demo', '4 модели'],
    ['?provider=demo&kind=embedding', '1 модель'],
    ['?price=0', '0 моделей'],
    ['?price=50', '504 модели'],
    ['?context=128000', '24 модели'],
    ['?capability=tools', '5 моделей'],
    ['?capability=tools&capability=reasoning', '0 моделей'],
    ['?max_output=32000', '0 моделей'],
    ['?output_price=0', '1 модель'],
    ['?country=KZ', '500 моделей'],
    ['?kind=<script>&context=7&price=-1&order=x', '504 модели'],
  ]) {
    await page.goto(`/app/models${search}`)
    await foundIn(page, count ?? '')
  }
})

test('twenty models are on a screen of 1280 × 900', async () => {
  const { page } = await openCatalog('/app/models')
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.goto('/app/models?q=model-2') // none of them has a price change to announce
  await foundIn(page, '111 моделей')
  expect(await page.evaluate(isRowSeen)).toBeGreaterThanOrEqual(20)
})

test('up to four models are compared: chosen in the list, named in the address, kept by Back', async () => {
  const { page, complaints } = await openCatalog('/app/models?q=model-10')
  await foundIn(page, '11 моделей')
  for (const n of [100, 101, 102, 103]) await page.getByLabel(`Сравнить Acme ${n}`, { exact: true }).check()
  await page.getByText('Отмечено 4 из 4').waitFor()
  expect(await page.getByLabel('Сравнить Acme 104', { exact: true }).isDisabled()).toBe(true)
  await page.waitForURL(/model=acme%2Fmodel-103/)
  await page.getByRole('link', { name: 'Сравнить', exact: true }).click()
  await page.getByRole('heading', { name: 'Сравнение моделей', level: 1 }).waitFor()
  expect(await page.getByRole('columnheader').allTextContents()).toEqual([
    'Свойство',
    'Acme 100',
    'Acme 101',
    'Acme 102',
    'Acme 103',
  ])
  const accepts = page.getByRole('row', { name: /^Принимает/ }).getByRole('cell')
  expect(await accepts.first().textContent()).toContain('Текст, Изображения')
  expect(
    await page
      .getByRole('row', { name: /^Ввод, за 1 млн/ })
      .locator('data')
      .first()
      .getAttribute('value'),
  ).toBe('10.1')
  await page.goBack()
  await page.getByText('Отмечено 4 из 4').waitFor()
  expect(complaints).toEqual([])
})

test('an empty result is one sentence with a way out, also for an unknown provider', async () => {
  const { page } = await openCatalog('/app/models?provider=nobody&q=%3Cscript%3Ealert(1)%3C/script%3E')
  await page.getByText('По этим условиям ничего не нашлось.').waitFor()
  expect(await page.getByLabel('Поиск').inputValue()).toBe('<script>alert(1)</script>')
  await page.getByRole('button', { name: 'Сбросить фильтры' }).click()
  await foundIn(page, '504 модели')
  await page.waitForURL('**/app/models')
})

test('an id is copied in the form that programs send', async () => {
  const { page } = await openCatalog('/app/models?q=model-42')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Копировать идентификатор acme/model-42', exact: true }).click()
  await page.getByText('Скопировано').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('acme/model-42')
})

test('the calculator shows what the server would charge, to the last digit', async () => {
  const { page } = await openCatalog('/app/models/acme/model-1')
  const counts = [
    [0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1],
    [1_000_000_000, 1_000_000_000, 1_000_000_000, 1_000_000_000, 1_000_000_000],
    [123_457, 0, 7, 99_991, 13],
    [3, 1_000_003, 0, 0, 999],
  ]
  for (const [input, cached, write, output, reasoning] of counts) {
    await page.getByLabel('Токенов ввода', { exact: true }).fill(String(input))
    await page.getByLabel('Токенов ввода из кэша').fill(String(cached))
    await page.getByLabel('Токенов записи в кэш').fill(String(write))
    await page.getByLabel('Токенов вывода').fill(String(output))
    await page.getByLabel('Токенов рассуждения').fill(String(reasoning))
    const answer = await fetch(`${catalog.cabinetUrl}/api/v1/pricing/estimate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: catalog.cabinetUrl },
      body: JSON.stringify({
        model: 'acme/model-1',
        input_tokens: input,
        output_tokens: output,
        reasoning_tokens: reasoning,
        cached_input_tokens: cached,
        cache_write_tokens: write,
      }),
    })
    const { cost_rub } = (await answer.json()) as { readonly cost_rub: string }
    expect(await page.locator('dl data').first().getAttribute('value')).toBe(cost_rub)
  }
})

test('numbers are read in any typed or pasted form, and anything else shows an error at its field', async () => {
  const { page } = await openCatalog('/app/models/demo/echo')
  const input = page.getByLabel('Токенов ввода')
  await input.fill('１ 000\u00a0000')
  await page.getByLabel('Токенов вывода').fill('0')
  expect(await page.locator('dl data').first().getAttribute('value')).toBe('10')
  for (const wrong of ['', '-1', '1.5', 'много', '9'.repeat(30)]) {
    await input.fill(wrong)
    expect(await input.getAttribute('aria-invalid')).toBe('true')
    expect(await page.locator('dl data').count()).toBe(0)
  }
})

test('future prices are announced', async () => {
  const { page } = await openCatalog('/app/models?q=model-1&context=1000000')
  await page.getByText(/с \d+ \S+ \d{4} г\. — 22,00/).waitFor()
  await page.goto('/app/models/acme/model-1')
  await page.getByText('Цены изменятся').waitFor()
  expect(await page.getByRole('row', { name: /Вывод/ }).textContent()).toMatch(/98,765.₽.*44,00/)
})

test('an unknown model is reported, with a link to the catalog', async () => {
  const { page } = await openCatalog('/app/models/acme/nothing/%3Cscript%3E')
  await page.getByText('Такой модели в каталоге нет').waitFor()
  await page.getByRole('link', { name: 'Открыть каталог' }).click()
  await foundIn(page, '504 модели')
})

test('the start page shows every visitor a price and a real request, in at most eight requests', async () => {
  const visitor = await openBrowser({}, { baseURL: catalog.cabinetUrl })
  const { page, complaints } = visitor
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.goto('/')
  await page.getByText(/Цены — от 10,00.₽/).waitFor()
  const code = (await page.locator('pre').textContent()) ?? ''
  expect(code).toContain(`curl ${catalog.baseUrl}/chat/completions`)
  expect(code).toMatch(/"model": "(?:acme|demo)\//)
  await page.getByRole('link', { name: 'Создать аккаунт' }).first().waitFor()
  expect(asked.length).toBeLessThanOrEqual(8)
  expect(complaints).toEqual([])
})

test('without JavaScript the catalog is filtered, turned over and compared, and a model has its prices and code', async () => {
  const { page } = await openBrowser({}, { baseURL: catalog.cabinetUrl, javaScriptEnabled: false })
  await page.goto('/models')
  await foundIn(page, '504 модели')
  await page.getByRole('link', { name: 'Следующая' }).click()
  await page.getByText('Страница 2 из 6').waitFor()
  await page.getByLabel('Поиск').fill('model-10')
  await page.getByLabel('Контекст', { exact: true }).selectOption('8000')
  await page.getByRole('button', { name: 'Показать', exact: true }).click()
  await foundIn(page, '11 моделей')
  for (const n of [100, 101]) await page.getByLabel(`Сравнить Acme ${n}`, { exact: true }).check()
  await page.getByRole('button', { name: 'Сравнить' }).click()
  expect(await page.getByRole('columnheader').allTextContents()).toEqual(['Свойство', 'Acme 100', 'Acme 101'])

  await page.goto('/models/acme/model-1?input=1000000&output=0')
  expect(await page.title()).toBe('Acme 1 · Model Gateway')
  expect(
    await page
      .getByRole('row', { name: /^Вывод/ })
      .first()
      .textContent(),
  ).toMatch(/98,765.₽/)
  await page.getByRole('heading', { name: 'История цен' }).waitFor()
  expect(await page.locator('#cost data').first().getAttribute('value')).toBe('12.470456789')
  expect(await page.locator('pre').first().textContent()).toContain('"model": "acme/model-1"')
  await page.getByText('Мало запросов, нет данных').first().waitFor()
})

test('with the script, the list and the calculator follow each change without a reload, and no choice is lost', async () => {
  const { page, complaints } = await openBrowser({}, { baseURL: catalog.cabinetUrl })
  await page.goto('/en/models')
  await foundIn(page, '504 models')
  await page.evaluate("document.body.dataset.kept = 'yes'")
  await page.getByLabel('Search').fill('model-42')
  await foundIn(page, '11 models')
  await page.waitForURL('**/en/models?q=model-42&order=name')
  const chosen = page.getByLabel('Compare Acme 42', { exact: true })
  await chosen.check()
  await page.getByLabel('Search').fill('model-43')
  await page.waitForURL('**/en/models?q=model-43&order=name&model=acme%2Fmodel-42')
  await page.getByLabel('Search').fill('model-42')
  await page.waitForURL('**/en/models?q=model-42&order=name&model=acme%2Fmodel-42')
  expect(await chosen.isChecked()).toBe(true)
  expect(await page.evaluate('document.body.dataset.kept')).toBe('yes')
  await page.getByRole('link', { name: 'Acme 42', exact: true }).click()
  await page.getByLabel('Input tokens', { exact: true }).fill('1 000 000')
  await page.getByLabel('Output tokens').fill('0')
  await page.locator('#cost data[value="10.042"]').waitFor()
  expect(complaints).toEqual([])
})

test('documents of models fit at 320 px, and show twenty rows at 1280 × 900', async () => {
  const { page } = await openBrowser({ width: 320 }, { baseURL: catalog.cabinetUrl })
  for (const path of [
    '/models',
    '/models/acme/model-1',
    '/models/compare?model=acme%2Fmodel-0&model=acme%2Fmodel-1',
  ]) {
    await page.goto(path)
    expect(await findOverflow(page), path).toEqual([])
  }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.goto('/models')
  expect(await page.evaluate(isRowSeen)).toBeGreaterThanOrEqual(20)
})

test('a document shows the day of its version, and its HTML never runs', async () => {
  const { page } = await openCatalog('/legal')
  await page
    .getByRole('link', { name: /Редакция от/ })
    .first()
    .click()
  await page.getByRole('heading', { level: 1, name: 'Публичная оферта' }).waitFor()
  expect(page.url()).toMatch(/\/legal\/offer\/\d{4}-\d{2}-\d{2}$/)
  await page.getByText('Это заготовка, а не документ.').waitFor()
  await page.getByText('Действует', { exact: true }).waitFor()
  await page.goto('/legal/personal_data')
  await page.getByRole('heading', { level: 1, name: 'Согласие на обработку персональных данных' }).waitFor()
  await page.goto('/legal/offer/1999-01-01')
  await page.getByText('Такого документа нет').waitFor()
})

test('axe finds nothing on the public pages, light or dark', async () => {
  const { page } = await openBrowser({}, { baseURL: catalog.cabinetUrl })
  const paths = [
    '/',
    ...['/models', '/en/models'].flatMap((models) => [
      models,
      `${models}?q=nothing+at+all`,
      `${models}/acme/model-1`,
      `${models}/compare`,
      `${models}/compare?model=acme%2Fmodel-0&model=acme%2Fmodel-1`,
      `${models}/acme/nothing`,
    ]),
    '/legal',
    '/legal/offer',
    '/legal/nothing',
  ]
  for (const path of paths) {
    await page.goto(path)
    await page.locator('h1').waitFor()
    await page
      .locator('main :is(table, pre, article, ul, button, a, p)')
      .filter({ visible: true })
      .first()
      .waitFor()
    await expectNoViolations(page)
  }
}, 120_000)
