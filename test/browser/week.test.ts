import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { addRubles, nanoOf } from '#cabinet/pages/money/rubles'
import { postBatch } from '#core/ledger/post-batch'
import { entryOf, uuidV7 } from '../support/customer.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { callFrom, openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register, system } from './visitor.ts'

// A customer's first week, and the month-end after it: all in the cabinet, except the customer's programs.
const pool = openDatabase()
afterAll(() => pool.end())

const alertMs = 120_000
/** Costs almost as much as is held for it, so that repeating it spends nearly all of a budget. */
const letters = 'a '.repeat(100).trim()
const words = 'раз два три четыре пять шесть семь восемь девять десять'

type Key = { readonly name: string; readonly tag: string; readonly id: string; readonly secret: string }

/** Creates a key on its page, with a tag, a weekly budget and other limits. */
async function makeKey(
  page: Page,
  name: string,
  tag: string,
  limits: Readonly<Record<string, string>>,
): Promise<Key> {
  await page.goto('/app/keys?new')
  for (const [field, value] of Object.entries({ name, tags: tag, ...limits }))
    await page.locator(`dialog [name=${field}]`).fill(value)
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  const secret = (await page.locator('[data-secret]').textContent()) ?? ''
  await page.getByRole('button', { name: 'Ключ сохранён' }).click()
  const path = await page.getByRole('link', { name, exact: true }).getAttribute('href')
  return { name, tag, secret, id: path?.split('/').at(-1) ?? '' }
}

/** A customer's program without a library. */
function send(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object | string,
): Promise<Response> {
  return fetch(`${system.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const bearer = ({ secret }: Pick<Key, 'secret'>) => ({ authorization: `Bearer ${secret}` })
const question = (model = 'demo/echo', content = words) => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user', content }],
})

/** Five programs: OpenAI's SDK, chat completions, Responses, Messages, and the playground. */
async function askByFiveClients(page: Page, [shop, site, stand]: readonly [Key, Key, Key]): Promise<void> {
  const env = { ...inheritedEnvironment, BASE_URL: system.baseUrl, API_KEY: shop.secret, MODEL: 'demo/echo' }
  const program = join(import.meta.dirname, 'stream-once.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env })
  expect(stdout).toBe('one two three')
  const answers = [
    await send('/chat/completions', bearer(shop), question('demo/slow')),
    await send('/responses', bearer(site), { model: 'demo/echo', input: words, max_output_tokens: 100 }),
    await send('/messages', { 'x-api-key': stand.secret, 'anthropic-version': '2023-06-01' }, question()),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  await page.goto('/app/playground?model=demo/echo')
  await page.getByLabel('Ваш вопрос').fill(words)
  await page.getByRole('button', { name: 'Отправить' }).click()
  await page.getByRole('log').getByRole('link', { name: 'Квитанция' }).waitFor()
}

/** Repeats a request until a limit of the key rejects it. */
async function askUntilRejected(key: Key, body: object) {
  for (let accepted = 0; accepted < 50; accepted++) {
    const rejected = await send('/chat/completions', bearer(key), body)
    if (rejected.status !== 200) return { rejected, accepted }
  }
  throw new Error(`no limit of ${key.name} rejected a request`)
}

/** Finds the rejection by its id, as a customer does who has it from a log. */
async function expectExplained(
  page: Page,
  response: Response,
  status: number,
  reason: string,
): Promise<void> {
  expect([reason, response.status]).toEqual([reason, status])
  const id = response.headers.get('x-gateway-request-id') ?? ''
  await page.goto('/app/requests')
  await page.locator('[name=request_id]').fill(id)
  await page.getByRole('button', { name: 'Открыть' }).click()
  await page
    .getByRole('region', { name: 'Запрос отклонён' })
    .getByText(reason, { exact: false })
    .first()
    .waitFor()
  await page.getByText(id).first().waitFor()
}

type Webhook = { readonly type: string; readonly data: Readonly<Record<string, string | number>> }

/** The customer's webhook receiver, which keeps only what the secret has signed. */
async function startReceiver(secretOf: () => string) {
  const received: Webhook[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers
    const secret = Buffer.from(secretOf().replace('whsec_', ''), 'base64')
    const expected = createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64')
    if (signature === `v1,${expected}`) received.push(JSON.parse(body) as Webhook)
    response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`, received }
}

/** Alerts of budgets by email and webhook. */
async function turnAlertsOn(page: Page) {
  let secret = ''
  const receiver = await startReceiver(() => secret)
  await page.goto('/app/settings')
  await page.getByLabel('Бюджеты').check()
  await page.getByRole('button', { name: 'Применить' }).click()
  await page.getByText('Уведомления изменены').waitFor()
  await page.getByLabel('Адрес вебхука').fill(receiver.url)
  await page.getByRole('button', { name: 'Задать адрес' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('heading', { name: 'Секрет вебхука' }).waitFor()
  secret = (await dialog.locator('code').textContent()) ?? ''
  await dialog.getByRole('button', { name: 'Секрет сохранён' }).click()
  return receiver
}

type Letter = { readonly to: string; readonly subject: string }

/** The subject of an email about a budget, once it arrives. */
function budgetLetterTo(email: string): Promise<string> {
  return vi.waitFor(
    async () => {
      const letters = (await (await fetch(`${system.mailCatcherUrl}.json`)).json()) as readonly Letter[]
      const letter = letters.find(({ to, subject }) => to === email && subject.includes('бюджет'))
      if (letter === undefined) throw new Error('no email about a budget')
      return letter.subject
    },
    { timeout: alertMs, interval: 1_000 },
  )
}

type Row = Readonly<Record<'id' | 'api_key_id' | 'model' | 'cost_rub', string>>

const sumOf = (rows: readonly Row[]) => addRubles('0', ...rows.map(({ cost_rub }) => cost_rub))

/** All settled requests, once there are this many. */
async function settledRequests(page: Page, count: number): Promise<readonly Row[]> {
  return vi.waitFor(
    async () => {
      const { data } = await readFrom<{ data: readonly Row[] }>(page, '/activity?type=request&limit=100')
      expect(data).toHaveLength(count)
      return data
    },
    { timeout: 30_000 },
  )
}

/** Noon in Moscow of a day of last month. */
function lastMonthMs(day: number): number {
  const moscow = new Date(Date.now() + 3 * 3_600_000)
  return Date.UTC(moscow.getUTCFullYear(), moscow.getUTCMonth() - 1, day, 9)
}

/** The column of a downloaded file, added up. */
async function sumOfFile(page: Page, link: RegExp, month: number, column: string): Promise<string> {
  const address = await page.getByRole('link', { name: link }).nth(month).getAttribute('href')
  const { status, text: csv } = await callFrom(page, 'GET', (address ?? '').replace('/api/v1', ''))
  expect(status).toBe(200)
  const [head = '', ...rows] = csv
    .replace(/^\u{feff}/u, '')
    .trimEnd()
    .split('\r\n')
  const place = head.split(',').indexOf(column)
  return addRubles('0', ...rows.map((row) => row.split(',')[place] ?? ''))
}

test('a week: three keys with weekly budgets and tags, five clients, rejections explained by their ids, alerts, and last month added up', async () => {
  const { page } = await openBrowser()
  const email = await register(page)
  const receiver = await turnAlertsOn(page)
  const shop = await makeKey(page, 'Магазин', 'shop', { weekly_budget_rub: '10' })
  const site = await makeKey(page, 'Сайт', 'site', { weekly_budget_rub: '5', rpm: '2' })
  const stand = await makeKey(page, 'Стенд', 'test', { weekly_budget_rub: '0,05' })
  await askByFiveClients(page, [shop, site, stand])

  // Rejections: of the request itself, of a limit per minute, of the week's budget, and of a blocked key.
  await expectExplained(
    page,
    await send('/chat/completions', bearer(shop), '{"model":'),
    400,
    'Тело запроса — не JSON',
  )
  await expectExplained(
    page,
    await send('/chat/completions', bearer(shop), question('no/such')),
    404,
    'Такой модели нет, или она не открыта организации',
  )
  const overRate = await askUntilRejected(site, question())
  await expectExplained(page, overRate.rejected, 429, 'Слишком много запросов за минуту')
  const overBudget = await askUntilRejected(stand, question('demo/echo', letters))
  await expectExplained(page, overBudget.rejected, 402, 'на неделю')
  await callFrom(page, 'POST', `/keys/${stand.id}/block`)
  await expectExplained(
    page,
    await send('/chat/completions', bearer(stand), question()),
    403,
    'Ключ заблокирован',
  )
  await page.goto('/app/requests')
  await page.locator('[name=request_id]').fill('01234567-89ab-7def-8123-456789abcdef')
  await page.getByRole('button', { name: 'Открыть' }).click()
  await page.waitForURL('**/01234567-89ab-7def-8123-456789abcdef*')
  await page.getByRole('main').getByRole('heading', { level: 2 }).first().waitFor()

  // The log, the usage, the overview and the ledger have the same sums, by key and by tag.
  const requests = await settledRequests(page, 5 + overRate.accepted + overBudget.accepted)
  const total = sumOf(requests)
  const ofKey = ({ id }: Key) => requests.filter(({ api_key_id }) => api_key_id === id)
  await page.goto('/app/usage?range=week&group=tag')
  await page.getByText('Совпадает с историей баланса').waitFor()
  expect(await page.getByRole('main').locator('p data').first().getAttribute('value')).toBe(total)
  for (const key of [shop, site, stand]) {
    const row = page.getByRole('table', { name: 'По меткам' }).getByRole('row').filter({ hasText: key.tag })
    expect(await row.locator('data').last().getAttribute('value')).toBe(sumOf(ofKey(key)))
  }
  const rejections = page.getByRole('region', { name: 'Отказы', exact: true })
  await rejections.getByRole('link', { name: 'Ключ заблокирован' }).click()
  await expect.poll(() => page.getByRole('table').locator('tbody tr:has(td)').count()).toBe(1)
  await page.goto('/app')
  const spending = page.getByRole('region', { name: 'Расход за 30 дней' })
  expect(await spending.locator('dd data').first().getAttribute('value')).toBe(total)
  await page
    .getByRole('region', { name: 'Ключи, близкие к бюджету' })
    .getByText('на неделю')
    .first()
    .waitFor()
  await spending.getByRole('link', { name: shop.name }).click()
  await page.getByText(new RegExp(`^Рассчитано: ${ofKey(shop).length}\\s`)).waitFor()

  // Alerts of the spent budget.
  await vi.waitFor(() => expect(receiver.received.map(({ data }) => data.key_name)).toContain(stand.name), {
    timeout: alertMs,
    interval: 500,
  })
  const alert = receiver.received.find(({ data }) => data.key_name === stand.name)
  expect(alert).toMatchObject({ type: 'budget.reached', data: { budget: 'weekly', budget_rub: '0.05' } })
  expect(await budgetLetterTo(email)).toContain(stand.name)

  // The month before, as if the customer had been here then, is exported and added up.
  const { organization } = await readFrom<{ organization: { id: string } }>(page, '/me')
  const costs = ['0.123456789', '1.5', '0.000000001', '2.25']
  await postBatch(
    pool,
    costs.map((cost, at) =>
      entryOf({ organizationId: organization.id, keyId: [shop, site][at % 2]?.id ?? '' }, nanoOf(cost), {
        requestId: uuidV7(lastMonthMs(2 + 8 * at)),
      }),
    ),
  )
  await page.goto('/app/billing/payments')
  const lastMonth = 1
  expect(await sumOfFile(page, /^Расход \(CSV\)/, lastMonth, 'cost_rub')).toBe(addRubles(...costs))
  expect(await sumOfFile(page, /^Операции \(CSV\)/, lastMonth, 'amount_rub')).toBe(`-${addRubles(...costs)}`)
  expect(await sumOfFile(page, /^Расход \(CSV\)/, 0, 'cost_rub')).toBe(total)
}, 300_000)
