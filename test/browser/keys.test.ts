import OpenAI from 'openai'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { expectNoViolations } from './axe.ts'
import { openBrowser, register, system, type Visitor } from './visitor.ts'

const permissions = ['clipboard-read', 'clipboard-write']

let kept: Awaited<ReturnType<BrowserContext['storageState']>> | undefined

/**
 * A browser of this file's customer, who registers once: the number of registrations per address and minute is limited.
 */
async function openCustomer(look: Parameters<typeof openBrowser>[0] = {}): Promise<Visitor> {
  const visitor = await openBrowser(look, { permissions, ...(kept && { storageState: kept }) })
  if (kept === undefined) {
    await register(visitor.page)
    kept = await visitor.page.context().storageState()
  }
  return visitor
}

type Fields = Readonly<Record<string, string>>

/** Fills in the dialog of a new key, opening it if necessary. */
async function fillNewKey(page: Page, fields: Fields): Promise<void> {
  await page.goto('/app/keys?new')
  for (const [name, value] of Object.entries(fields)) await page.locator(`dialog [name=${name}]`).fill(value)
}

/** Creates a key on the page, reads its secret and confirms having saved it. */
async function makeKey(
  page: Page,
  fields: Fields,
): Promise<{ readonly secret: string; readonly path: string }> {
  await fillNewKey(page, fields)
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  const secret = (await page.locator('[data-secret]').textContent()) ?? ''
  await page.getByRole('button', { name: 'Ключ сохранён' }).click()
  const link = page.getByRole('link', { name: fields.name ?? '', exact: true })
  return { secret, path: (await link.getAttribute('href')) ?? '' }
}

const newName = () => `Программа ${crypto.randomUUID().slice(0, 8)}`

/** The gateway's response to a small request. */
function ask(secret: string, content = 'привет', maxTokens = 20): Promise<Response> {
  return fetch(`${system.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo/echo',
      max_tokens: maxTokens,
      messages: [{ role: 'user', content }],
    }),
  })
}

test('a key is created, its secret copied, the official SDK streams with it, and the overview ticks the step within 5 s', async () => {
  const { page, complaints } = await openBrowser({}, { permissions })
  await register(page)
  kept ??= await page.context().storageState()
  const overview = await page.context().newPage()
  await overview.goto('/app')
  await overview.locator('[data-step=key][data-done=false]').waitFor()
  expect(await overview.locator('[data-step=confirm]').getAttribute('data-done')).toBe('true')

  await page.getByRole('link', { name: 'Создать ключ' }).first().click()
  await page.locator('dialog [name=name]').fill('Первый')
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  const curl = await page.locator('dialog pre').textContent()
  const secret = (await page.locator('[data-secret]').textContent()) ?? ''
  expect(secret).toMatch(/^sk-gateway-\w{40,}$/)
  expect(curl).toContain(`curl ${system.baseUrl}/chat/completions`)
  expect(curl).toContain(`Bearer ${secret}`)
  expect(curl).toContain('"model": "demo/echo"')
  await page.getByLabel('Программа').selectOption('OpenAI: Python')
  await page.locator('dialog pre', { hasText: `export MODEL_GATEWAY_API_KEY='${secret}'` }).waitFor()

  for (let times = 0; times < 3; times++) await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  expect(await page.locator('[data-secret]').isVisible()).toBe(true)
  const later: Promise<string>[] = []
  page.on('response', (response) => {
    const isEndless = new URL(response.url()).pathname.endsWith('/events')
    if (!isEndless) later.push(response.text().catch(() => ''))
  })
  await page.getByRole('button', { name: 'Скопировать и закрыть' }).click()
  await page.locator('dialog').waitFor({ state: 'detached' })
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(copied).toBe(secret)

  await overview.locator('[data-step=key][data-done=true]').waitFor()
  expect(await overview.locator('[data-step=request]').getAttribute('data-done')).toBe('false')
  const client = new OpenAI({ baseURL: system.baseUrl, apiKey: copied })
  const stream = await client.chat.completions.create({
    model: 'demo/echo',
    messages: [{ role: 'user', content: 'раз два три' }],
    stream: true,
  })
  let said = ''
  for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? ''
  expect(said).toBe('раз два три')
  await overview.locator('[data-step=request][data-done=true]').waitFor({ timeout: 5_000 })

  await page.getByRole('link', { name: 'Первый' }).click()
  await page.getByRole('heading', { name: 'Почему отказ?' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Почему отказ?' }).waitFor()
  expect(await everythingKept(page)).not.toContain(secret)
  expect((await Promise.all(later)).join('\n')).not.toContain(secret)
  expect(complaints).toEqual([])
})

/** Everything that a page holds: its document, its storages, its address and the state of its history entry. */
function everythingKept(page: Page): Promise<string> {
  return page.evaluate<string>(`[
    document.documentElement.outerHTML,
    JSON.stringify({ ...localStorage, ...sessionStorage }),
    document.cookie,
    location.href,
    JSON.stringify(history.state),
  ].join()`)
}

test('neither Back nor a browser that closes dialogs itself hides a new secret before the user confirms having saved it', async () => {
  const { page } = await openCustomer()
  await page.goto('/app')
  await page.getByRole('link', { name: 'Ключи', exact: true }).first().click()
  await page.getByRole('button', { name: 'Создать ключ' }).first().click()
  await page.locator('dialog [name=name]').fill(newName())
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  const shown = page.locator('dialog[open] [data-secret]')
  const secret = await shown.textContent()
  for (let times = 0; times < 2; times++) {
    await page.goBack()
    await page.waitForURL('**/app/keys')
    for (let presses = 0; presses < 2; presses++) await page.keyboard.press('Escape')
    await page.evaluate('document.querySelector("dialog").close()')
    await shown.waitFor()
    expect(await shown.textContent()).toBe(secret)
  }

  await page.getByRole('button', { name: 'Ключ сохранён' }).click()
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Создать ключ' }).first().click()
  await page.locator('dialog [name=name]').waitFor()
  await page.goBack()
  await page.locator('dialog').waitFor({ state: 'detached' })
})

test('a secret that the browser cannot copy stays visible, and the dialog shows the error', async () => {
  const { page } = await openCustomer()
  await fillNewKey(page, { name: newName() })
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  await page.locator('[data-secret]').waitFor()
  await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("refused"))')
  await page.getByRole('button', { name: 'Скопировать и закрыть' }).click()
  await page.locator('dialog').getByRole('alert').filter({ hasText: 'Выделите текст' }).waitFor()
  expect(await page.locator('[data-secret]').isVisible()).toBe(true)
  await page.locator('dialog figure').getByRole('button', { name: 'Копировать код' }).click()
  await page.locator('dialog figure').getByRole('alert').waitFor()
  await page.locator('dialog').evaluate('(dialog) => dialog.scrollTo(0, 0)')
  await expectNoViolations(page)
})

test('a new secret is shown with the command of a first request even if the other configurations cannot be loaded', async () => {
  const { page } = await openCustomer()
  await page.route('**/assets/connect-*.js', (route) => route.fulfill({ status: 404 }))
  await fillNewKey(page, { name: newName() })
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  const secret = (await page.locator('[data-secret]').textContent()) ?? ''
  await page.locator('dialog pre', { hasText: `Bearer ${secret}` }).waitFor()
  await page.getByRole('button', { name: 'Ключ сохранён' }).click()
  await page.locator('dialog').waitFor({ state: 'detached' })
})

test('a lost response is reported for a new key and for a new secret, and there is one key', async () => {
  const { page, proxy } = await openCustomer()
  const name = newName()
  await fillNewKey(page, { name })
  const loseOnce = async (path: RegExp, send: string, title: string) => {
    proxy.interrupt(({ pathname }) => path.test(pathname), 'lose')
    await page.getByRole('button', { name: send }).last().click()
    await page.locator('dialog').getByRole('alert').getByText('Сервер не отвечает').waitFor()
    proxy.mend()
    await page.getByRole('button', { name: send }).last().click()
    await page.getByRole('dialog').getByRole('heading', { name: title }).waitFor()
    await expectNoViolations(page)
  }
  await loseOnce(/\/keys$/, 'Создать ключ', 'Ключ создан, но его секрет до вас не дошёл')
  await page.getByRole('link', { name: 'Открыть ключ' }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Выпустить новый секрет' }).click()
  await loseOnce(/\/rotate$/, 'Выпустить новый секрет', 'Секрет заменён, но новый до вас не дошёл')
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  expect(await page.locator(':focus').textContent()).toBe('Выпустить новый секрет')
  await page.goto('/app/keys')
  await page.getByRole('link', { name, exact: true }).first().waitFor()
  expect(await page.getByRole('link', { name, exact: true }).count()).toBe(1)
})

test('after confirming that a secret is saved the user is back where they were', async () => {
  const { page } = await openCustomer()
  const name = newName()
  await page.goto('/app/keys')
  const saveSecretOf = async (opener: string, fill: () => Promise<void>) => {
    await page.getByRole('main').getByRole('button', { name: opener }).first().click()
    await fill()
    await page.locator('dialog [type=submit]').click()
    await page.getByRole('button', { name: 'Ключ сохранён' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await page.locator(':focus').textContent()).toBe(opener)
  }
  await saveSecretOf('Создать ключ', () => page.locator('dialog [name=name]').fill(name))
  await page.getByRole('link', { name, exact: true }).click()
  await saveSecretOf('Выпустить новый секрет', () => page.locator('dialog [name=grace]').waitFor())
})

test('an organization without keys sees what keys are for, and creates its first from there', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/keys')
  await page.getByText('Здесь появятся ключи').waitFor()
  await expectNoViolations(page)
  await page.getByRole('region', { name: 'Все ключи' }).getByRole('button', { name: 'Создать ключ' }).click()
  await page.locator('dialog [name=name]').waitFor()
})

test('a dialog stays open when a selection ends outside it, and closes on a click outside it', async () => {
  const { page } = await openCustomer()
  const name = newName()
  await fillNewKey(page, { name })
  const field = page.locator('dialog [name=name]')
  const { x, y } = (await field.boundingBox()) ?? { x: 0, y: 0 }
  await page.mouse.move(x + 40, y + 10)
  await page.mouse.down()
  await page.mouse.move(5, 5, { steps: 3 })
  await page.mouse.up()
  expect(await field.inputValue()).toBe(name)
  await page.mouse.click(5, 5)
  await page.locator('dialog').waitFor({ state: 'detached' })
})

test('two clicks at once on the button create one key', async () => {
  const { page } = await openCustomer()
  const name = newName()
  await fillNewKey(page, { name })
  await page.getByRole('button', { name: 'Создать ключ' }).last().dblclick()
  await page.getByRole('button', { name: 'Ключ сохранён' }).click()
  await page.getByRole('link', { name, exact: true }).first().waitFor()
  await page.reload()
  await page.getByRole('link', { name, exact: true }).first().waitFor()
  expect(await page.getByRole('link', { name, exact: true }).count()).toBe(1)
})

test('a key blocked on the page is rejected at its next request, and works again after unblocking', async () => {
  const { page } = await openCustomer()
  const { secret, path } = await makeKey(page, { name: newName() })
  expect((await ask(secret)).status).toBe(200)
  await page.goto(path)
  await page.getByRole('button', { name: 'Заблокировать' }).click()
  await page.getByRole('button', { name: 'Разблокировать' }).waitFor()
  expect((await ask(secret)).status).toBe(403)
  await page.getByText('Сейчас шлюз ответит отказом: ключ заблокирован.').waitFor()
  await page.getByRole('button', { name: 'Разблокировать' }).click()
  await page.getByRole('button', { name: 'Заблокировать' }).waitFor()
  expect((await ask(secret)).status).toBe(200)
})

test('a key that used up its budget shows the numbers of the error within 5 s, also on the overview', async () => {
  const { page } = await openCustomer()
  const name = newName()
  const { secret, path } = await makeKey(page, { name, daily_budget_rub: ' ０,０１ ' })
  await page.goto(path)
  await page.getByText('Отказов не было.').waitFor()
  const overview = await page.context().newPage()
  await overview.goto('/app')
  await overview.getByRole('heading', { name: 'С чего начать' }).waitFor()
  // The second request costs nothing, so no hint reports it.
  for (let times = 0; times < 2; times++) {
    const error = await askUntilRefused(secret)
    const refusedMs = Date.now()
    for (const shown of [page, overview]) {
      const item = shown.getByRole('listitem').filter({ hasText: error.request_id })
      await item.waitFor({ timeout: 5_000 - (Date.now() - refusedMs) })
      const text = (await item.textContent()) ?? ''
      expect(text).toContain(error.limit.replace('.', ','))
      for (const amount of [error.used, error.held, error.needed])
        expect(text).toContain(amount.replace('.', ','))
      expect(text).toContain('00:00 МСК')
      expect(await item.locator(`time[datetime="${error.resets_at}"]`).count()).toBe(1)
    }
  }
  await overview.getByRole('link', { name }).first().click()
  await overview.getByRole('heading', { name, level: 1 }).waitFor()
})

type BudgetError = Readonly<
  Record<'request_id' | 'limit' | 'used' | 'held' | 'needed' | 'resets_at' | 'code', string>
>

async function askUntilRefused(secret: string): Promise<BudgetError> {
  for (let times = 0; times < 50; times++) {
    const response = await ask(secret, 'привет '.repeat(100))
    if (response.status === 200) continue
    const { error } = (await response.json()) as { readonly error: BudgetError }
    if (error.code === 'request_exceeds_budget' || error.code === 'daily_budget_exceeded') return error
  }
  throw new Error('the key was never rejected')
}

test("after another user's change, a save shows a conflict, keeps what was typed, and shows the newest version", async () => {
  const { page } = await openCustomer()
  const { path } = await makeKey(page, { name: newName(), rpm: '10' })
  await page.goto(path)
  await page.locator('[name=tpm]').fill('５ ０００')
  const other = await page.context().newPage()
  await other.goto(path)
  await other.locator('[name=rpm]').fill('77')
  await other.getByRole('button', { name: 'Сохранить' }).click()
  await other.getByText('Сохранено').waitFor()

  await page.getByRole('button', { name: 'Сохранить' }).click()
  const alert = page.getByRole('alert').filter({ hasText: 'его изменил другой пользователь' })
  expect(await alert.textContent()).toContain('Запросов в минуту:77')
  expect(await page.getByRole('alert').count()).toBe(1)
  expect(await page.locator('[name=tpm]').inputValue()).toBe('５ ０００')
  expect(await page.locator('[name=rpm]').inputValue()).toBe('77')
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText('Сохранено').waitFor()
  await page.reload()
  expect(await page.locator('[name=tpm]').inputValue()).toBe('5000')
  expect(await page.locator('[name=rpm]').inputValue()).toBe('77')
})

test('limits typed during a save stay, and are saved next', async () => {
  const { page, proxy } = await openCustomer()
  const { path } = await makeKey(page, { name: newName() })
  await page.goto(path)
  const ofTheKey = path.replace('/app', '/api/v1')
  const answerTo = (method: string) =>
    page.waitForResponse((response) => {
      const asked = response.request()
      return asked.method() === method && new URL(asked.url()).pathname === ofTheKey
    })
  const save = page.getByRole('button', { name: 'Сохранить' })
  proxy.delay(({ pathname }) => pathname === ofTheKey, 1_000)
  await page.locator('[name=rpm]').fill('10')
  const readAgain = answerTo('GET')
  await save.click()
  await page.locator('form [type=submit][aria-busy]').waitFor()
  await page.locator('[name=tpm]').fill('5000')
  await page.getByText('Сохранено').waitFor()
  await readAgain
  proxy.delay(() => false, 0)
  const saved = answerTo('PATCH')
  await save.click()
  expect((await saved).status()).toBe(200)
  await page.reload()
  expect(await page.locator('[name=rpm]').inputValue()).toBe('10')
  expect(await page.locator('[name=tpm]').inputValue()).toBe('5000')
})

test('a rotated key works with its new secret at once, and with the old one only for the grace period', async () => {
  const { page } = await openCustomer()
  const { secret, path } = await makeKey(page, { name: newName() })
  await page.goto(path)
  for (const [grace, status] of [
    ['1h', 200],
    ['0', 401],
  ] as const) {
    await page.getByRole('button', { name: 'Выпустить новый секрет' }).click()
    await page.locator('[name=grace]').selectOption(grace)
    await page.getByRole('button', { name: 'Выпустить новый секрет' }).last().click()
    const next = (await page.locator('[data-secret]').textContent()) ?? ''
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Ключ сохранён' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect((await ask(next)).status).toBe(200)
    expect((await ask(secret)).status).toBe(status)
    expect(await everythingKept(page)).not.toContain(next)
  }
})

test('a key is revoked after its name was typed, and moves from the gateway to the list of revoked keys', async () => {
  const { page } = await openCustomer()
  const name = `${'и'.repeat(240)} ${newName().slice(-8)}`
  const { secret, path } = await makeKey(page, { name })
  await page.goto(path)
  await page.getByRole('button', { name: 'Отозвать ключ' }).click()
  const confirmation = page.locator('[name=confirmation]')
  await confirmation.fill('не тот')
  await page.getByRole('button', { name: 'Отозвать ключ' }).last().click()
  expect(await confirmation.getAttribute('aria-invalid')).toBe('true')
  await confirmation.fill(name)
  await page.getByRole('button', { name: 'Отозвать ключ' }).last().click()
  await page.waitForURL('**/app/keys')
  await page.getByRole('heading', { name: 'Ключи', level: 1 }).waitFor()
  expect((await ask(secret)).status).toBe(401)
  await page.getByRole('link', { name, exact: true }).waitFor({ state: 'detached' })

  await page.locator('select[name=status]').selectOption('revoked')
  await page.getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
  await page.getByText('Ключ отозван навсегда').waitFor()
  expect(await page.getByRole('main').getByRole('button').allTextContents()).toEqual([])
  await expectNoViolations(page)
  await page.getByRole('link', { name: 'запросы ключа' }).click()
  await page.waitForURL('**/app/requests?key_id=*')
  await vi.waitFor(async () => expect(await page.locator('[name=key_id]').inputValue()).toBe(name))
  await page.goto('/app/keys?status=revoked')
  await page.getByRole('link', { name, exact: true }).waitFor()
  await expectNoViolations(page)
})

test('a missing key is reported under a heading, with a link back', async () => {
  const { page } = await openCustomer()
  await page.goto(`/app/keys/${crypto.randomUUID()}`)
  await page.getByRole('alert').getByText('Не найдено').waitFor()
  expect(await page.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['Ключ'])
  await page.getByRole('link', { name: 'Все ключи' }).waitFor()
  await expectNoViolations(page)
})

test('wrong fields of a new key show errors, and names in any script are shown unchanged', async () => {
  const { page, complaints } = await openCustomer({ width: 390 })
  await fillNewKey(page, {
    name: '',
    rpm: '0',
    tpm: 'много',
    daily_budget_rub: '1e3',
    weekly_budget_rub: '0',
    monthly_budget_rub: '1000000000000',
    total_budget_rub: '0,0001',
    expires_at: '2020-01-01',
  })
  await page.getByLabel('Только выбранные').check()
  await page.getByLabel('Все модели demo').waitFor()
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  const wrong = page.locator('dialog [aria-invalid=true]')
  const names = new Set(await Promise.all((await wrong.all()).map((field) => field.getAttribute('name'))))
  expect([...names]).toEqual([
    'name',
    'daily_budget_rub',
    'weekly_budget_rub',
    'monthly_budget_rub',
    'total_budget_rub',
    'expires_at',
    'rpm',
    'tpm',
    'allowed_models',
  ])
  expect(await page.locator(':focus').getAttribute('name')).toBe('name')
  expect(await page.locator('[name=tpm]').inputValue()).toBe('много')

  const odd = ['<script>document.title = "!"</script>', 'מפתח של צוות', 'x'.repeat(253)]
  for (const name of odd) {
    await makeKey(page, { name })
    await page.getByRole('link', { name, exact: true }).first().click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    expect(await page.title()).toBe(`${name} · Model Gateway`)
    expect(await widthOf(page)).toBeLessThanOrEqual(390)
  }
  expect(complaints).toEqual([])
})

const widthOf = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth')

test.for(['light', 'dark'] as const)('pages and dialogs of keys are accessible: %s', async (theme) => {
  const { page } = await openCustomer({ theme, width: theme === 'light' ? 1280 : 390 })
  const { path } = await makeKey(page, { name: newName(), daily_budget_rub: '5' })
  await expectNoViolations(page)
  await page.goto('/app')
  await page.getByRole('heading', { name: 'С чего начать' }).waitFor()
  await expectNoViolations(page)
  await fillNewKey(page, { rpm: 'x' })
  await page.getByLabel('Только выбранные').check()
  await page.getByLabel('Все модели demo').waitFor()
  await page.getByRole('button', { name: 'Создать ключ' }).last().click()
  await expectNoViolations(page)
  await page.goto(path)
  await page.getByRole('table').waitFor()
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Отозвать ключ' }).click()
  await expectNoViolations(page)
  await page.keyboard.press('Escape')
  expect(await page.locator(':focus').textContent()).toBe('Отозвать ключ')
  await page.getByRole('button', { name: 'Выпустить новый секрет' }).click()
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Выпустить новый секрет' }).last().click()
  await page.locator('[data-secret]').waitFor()
  await expectNoViolations(page)
})

test('budgets by week, by month and in all are set with a key, changed, and shown with what is used of them', async () => {
  const { page } = await openCustomer()
  const budgets = { weekly_budget_rub: '100', monthly_budget_rub: '300', total_budget_rub: '1000' }
  const { path, secret } = await makeKey(page, { name: newName(), ...budgets })
  expect((await ask(secret, 'привет')).status).toBe(200)
  await page.goto(path)
  const table = page.getByRole('table')
  const rowOf = (name: string) => table.getByRole('row').filter({ hasText: name })
  for (const [name, limit] of [
    ['Бюджет на неделю', '100,00'],
    ['Бюджет на месяц', '300,00'],
    ['Бюджет на всё время', '1 000,00'],
  ] as const)
    expect((await rowOf(name).textContent())?.replace(/\s/gu, ' ')).toContain(limit)
  await page.locator('[name=monthly_budget_rub]').fill('')
  await page.locator('[name=weekly_budget_rub]').fill('0,01')
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText('Сохранено').waitFor()
  await rowOf('Бюджет на месяц').waitFor({ state: 'detached' })
  await expectNoViolations(page)
})

test('tags are set with a key, filter the list, and split the usage without counting a request twice in the totals', async () => {
  const { page, complaints } = await openCustomer()
  const name = newName()
  const tag = `t-${crypto.randomUUID().slice(0, 8)}`
  const { secret, path } = await makeKey(page, { name, tags: `${tag}, ${tag}-b` })
  expect((await ask(secret)).status).toBe(200)
  await makeKey(page, { name: newName() })
  await page.goto(`/app/keys?tag=${tag}`)
  const rows = page.getByRole('table', { name: 'Все ключи' }).locator('tbody tr')
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByText(`${tag} · ${tag}-b`).waitFor()
  await expectNoViolations(page)
  await page.goto('/app/usage?range=week&group=tag')
  const figures = page.getByRole('table', { name: 'По меткам за период' })
  for (const each of [tag, `${tag}-b`])
    await figures.getByRole('link', { name: each, exact: true }).waitFor({ timeout: 15_000 })
  await page.getByText(/^Ключ с двумя метками входит в обе строки/).waitFor()
  await expectNoViolations(page)
  await figures.getByRole('link', { name: tag, exact: true }).click()
  await page.waitForURL(`**/app/requests?**tag=${tag}`)
  const requests = page.getByRole('table', { name: 'Запросы' }).locator('tbody tr:has(th[scope=row])')
  await expect.poll(() => requests.count()).toBe(1)
  await page.goto(path)
  const field = page.getByLabel('Метки')
  await field.fill('Wrong tag')
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText(/^В метке до 32 символов/).waitFor()
  await field.fill('')
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText('Сохранено').first().waitFor()
  expect(complaints).toEqual([])
})

test('allowed addresses are set with a key, wrong ones are named by their place, and a rejection explains itself', async () => {
  const { page, complaints } = await openCustomer()
  await fillNewKey(page, { name: newName(), allowed_ips: '203.0.113.7\n10.0.0.1/8\n::1\nx' })
  const create = page.getByRole('dialog').getByRole('button', { name: 'Создать ключ' })
  await create.click()
  await page.getByText(/^Записи с ошибкой: 4\./).waitFor()
  await page.locator('dialog [name=allowed_ips]').fill('203.0.113.7\n10.0.0.1/8')
  await create.click()
  await page.getByText(/^Записи с ошибкой: 2\./).waitFor()
  const { secret, path } = await makeKey(page, { name: newName(), allowed_ips: '203.0.113.7\n2001:DB8::/32' })
  expect((await ask(secret)).status).toBe(403)
  await page.goto(path)
  const field = page.getByLabel('Разрешённые адреса', { exact: true })
  await expect.poll(() => field.inputValue()).toBe('203.0.113.7\n2001:db8::/32')
  await page.getByText('Ключ не разрешён с этого адреса').first().waitFor({ timeout: 15_000 })
  await page.getByText('2 адреса или сети').or(page.getByText('2 адреса и сети')).first().waitFor()
  await expectNoViolations(page)
  await field.fill('')
  await page.getByRole('button', { name: 'Сохранить' }).click()
  await page.getByText('Сохранено').first().waitFor()
  expect((await ask(secret)).status).toBe(200)
  expect(complaints).toEqual([])
})

test('a name that another key has is rejected next to its field, with a free one', async () => {
  const { page, complaints } = await openCustomer()
  const name = newName()
  await makeKey(page, { name })
  await fillNewKey(page, { name })
  await page.getByRole('dialog').getByRole('button', { name: 'Создать ключ' }).click()
  await page.getByText(`Ключ с таким названием уже есть. Свободно «${name} 2»`).waitFor()
  await makeKey(page, { name: `${name} 2` })
  expect(complaints).toEqual([])
})
