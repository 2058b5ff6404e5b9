import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { makeAdministrator } from '#cabinet/administrators/made-administrator'
import {
  type AdministrationPath,
  administrationRoutes,
  operationSections,
} from '#cabinet/pages/administration-routes'
import { inScope } from '#core/audit/scope'
import { codeOf } from '../support/administrators.ts'
import { settle, visit } from './addresses.ts'
import { administrationUrl, administratorCode, openAsAdministrator } from './administrator.ts'
import { expectNoViolations } from './axe.ts'
import { openDatabase } from './signed-in-calls.ts'
import { newEmail, openBrowser, password, register, system } from './visitor.ts'

/** A token, as `npm run admin` prints it. */
async function printedToken(email: string): Promise<string> {
  const pool = openDatabase()
  const scope = { actor: { kind: 'command', name: 'npm run admin' }, organizationId: null } as const
  const made = await inScope(pool, scope, (client) => makeAdministrator(client, email, 'make'))
  await pool.end()
  return 'token' in made ? made.token : ''
}

test('an administrator sets up access with the printed token, signs out, and signs in with a recovery code', async () => {
  const { page } = await openBrowser({}, { baseURL: administrationUrl })
  const email = newEmail()
  await page.goto('/')
  await page.waitForURL('**/login?**')
  await page.getByRole('link', { name: 'Настройте доступ' }).click()
  await page.getByLabel('Токен').fill('x'.repeat(43))
  await page.locator('[name=password]').fill(password)
  await page.getByRole('button', { name: 'Продолжить' }).click()
  await page.getByText('Токен устарел или уже использован').waitFor()
  await page.getByLabel('Токен').fill(` ${await printedToken(email)} `)
  await page.getByRole('button', { name: 'Продолжить' }).click()
  await page.getByRole('heading', { name: 'Подключите приложение' }).waitFor()
  const secret = ((await page.locator('code').textContent()) ?? '').replace(/\s/g, '')
  await expectNoViolations(page)
  await page.locator('[name=code]').fill(codeOf(secret))
  await page.getByRole('button', { name: 'Войти', exact: true }).click()
  await page.getByRole('heading', { name: 'Сохраните резервные коды' }).waitFor()
  const codes = await page.locator('dialog li').allTextContents()
  expect(codes).toHaveLength(10)
  await page.getByRole('button', { name: 'Коды сохранены' }).click()
  await page.waitForURL('**/app')

  await page.getByRole('button', { name: 'Профиль и выход' }).click()
  await page.getByText(email).first().waitFor()
  await page.getByRole('button', { name: 'Выйти' }).click()
  await page.waitForURL('**/login')
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(password)
  await page.locator('[name=code]').fill('000000')
  await page.getByRole('button', { name: 'Войти', exact: true }).click()
  await page.getByText('Почта, пароль или код не подходят').waitFor()
  await page.getByRole('button', { name: 'Ввести резервный код' }).click()
  await page.locator('[name=recovery_code]').fill(codes[0] ?? '')
  await page.getByRole('button', { name: 'Войти', exact: true }).click()
  await page.waitForURL('**/app')
})

test('a new version of a document is published for a day, and the register shows who accepted which', async () => {
  const { page } = await openAsAdministrator()
  const person = await openBrowser()
  const email = await register(person.page)
  await page.goto('/app/legal')
  await page.getByRole('cell', { name: email }).first().waitFor()
  await page.getByRole('button', { name: 'Опубликовать' }).click()
  expect(await page.getByText('Заполните это поле').count()).toBe(4)
  await page.getByLabel('Документ').selectOption('personal_data')
  await page.getByLabel('Действует с').fill('2020-01-01')
  await page.getByLabel('Текст на русском').fill('# Согласие')
  await page.getByLabel('Текст на английском').fill('# Consent')
  await page.getByLabel('Причина').fill('Новый адрес')
  await page.getByRole('button', { name: 'Опубликовать' }).click()
  await page.getByText('должно быть не раньше').waitFor()
  await expectNoViolations(page)
  await page.getByLabel('Действует с').fill('2099-01-01')
  await page.getByRole('button', { name: 'Опубликовать' }).click()
  await page.getByText('Ещё не действует').waitFor()
  const file = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Скачать CSV' }).click()
  expect((await file).suggestedFilename()).toBe('consents.csv')

  await person.page.goto('/legal/personal_data/2099-01-01')
  await person.page.getByText('Эта редакция вступит в силу в день своей даты.').waitFor()
})

test('a code is asked for again by a dialog, and closing it leaves the page as it was', async () => {
  const { page } = await openAsAdministrator()
  await visit(page, '/app/account')
  await page.getByRole('button', { name: 'Ввести код ещё раз' }).click()
  await page.getByRole('heading', { name: 'Подтвердите, что это вы' }).waitFor()
  await expectNoViolations(page)
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Ввести код ещё раз' }).click()
  await page.locator('dialog [name=code]').fill('12345')
  await page.getByRole('button', { name: 'Подтвердить' }).click()
  await page.getByText('Введите шесть цифр кода').waitFor()
  await page.locator('dialog [name=code]').fill(await administratorCode())
  await page.keyboard.press('Enter')
  await page.getByText('Код принят').waitFor()
  expect(await page.locator('dialog').count()).toBe(0)
})

test('no page or file of administration is served to customers, and no file of the cabinet to administrators', async () => {
  const { page } = await openBrowser({}, { baseURL: administrationUrl })
  const scriptOf = async (url: string) => {
    const document = await (
      await page.request.get(`${url}/login`, { headers: { accept: 'text/html' } })
    ).text()
    return /src="(\/assets\/index-[^"]+)"/.exec(document)?.[1] ?? ''
  }
  const [ours, theirs] = [await scriptOf(administrationUrl), await scriptOf(system.cabinetUrl)]
  expect([ours, theirs].every((path) => path.endsWith('.js'))).toBe(true)
  expect((await page.request.get(`${system.cabinetUrl}${ours}`)).status()).toBe(404)
  expect((await page.request.get(`${administrationUrl}${theirs}`)).status()).toBe(404)
  const response = await page.request.get(`${administrationUrl}/app/keys`, {
    headers: { accept: 'text/html' },
  })
  expect(response.status()).toBe(404)
  const policy = (await page.request.get('/login')).headers()['content-security-policy']
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
  expect(policy).toContain("connect-src 'self';")
})

test('operations shows each section of the runbooks, and a rejected charge is written off there', async () => {
  const { page } = await openAsAdministrator()
  const pool = openDatabase()
  const { rows } = await pool.query<{ id: string }>(
    "insert into charges_rejected (shard, stream_id, entry, error) values (0, $1, '{}', 'no such key') returning id",
    [newEmail()],
  )
  await visit(page, '/app/operations#gateways')
  for (const section of operationSections) await page.locator(`#${section} h2`).first().waitFor()
  await page
    .locator('#gateways')
    .getByRole('cell', { name: /^\d+\.\d+\.\d+/ })
    .first()
    .waitFor()
  expect(
    await page.locator('#gateways').evaluate((one) => one.getBoundingClientRect().top < innerHeight),
  ).toBe(true)
  await page.locator('#money').getByText('Сумма проводок равна сумме балансов').waitFor()
  await page.locator('#rejected-charges').getByText('no such key').first().waitFor()
  await page.getByRole('button', { name: `Списать в убыток: ${rows[0]?.id}` }).click()
  await page.getByLabel('Причина', { exact: true }).fill('Ключ не вернуть')
  await page.locator('dialog').getByRole('button', { name: 'Списать в убыток' }).click()
  await page.getByText('Решение сохранено').waitFor()
  await page.getByText('Непроведённых списаний нет').waitFor()
  await page.locator('#rejected-charges').getByLabel('Показать').selectOption('all')
  await page.getByText('Ключ не вернуть').waitFor()
  await pool.end()
})

/** Addresses of the demo's customer, which has keys, requests and a payment history. */
async function findExamples(): Promise<Partial<Record<AdministrationPath, string>>> {
  const pool = openDatabase()
  const { rows } = await pool.query<{ organization: string; request: string }>(
    'select organization_id as organization, id as request from requests where cost > 0 order by ts desc limit 1',
  )
  await pool.end()
  const { organization = '', request = '' } = rows[0] ?? {}
  const customer = `/app/customers/${organization}`
  return {
    '/app/customers/:organization_id': customer,
    '/app/customers/:organization_id/requests/:request_id': `${customer}/requests/${request}`,
    '/app/models/*': '/app/models/demo/echo',
    '/app/providers/*': '/app/providers/demo',
  }
}

for (const [language, width] of [
  ['ru', 1280],
  ['en', 390],
] as const)
  test(`axe finds nothing on any page of administration, light or dark (${language}, ${width} px)`, async () => {
    const { page } = await openAsAdministrator({ language, width })
    const examples = await findExamples()
    for (const path of Object.keys(administrationRoutes) as AdministrationPath[]) {
      await page.goto(examples[path] ?? path)
      await settle(page)
      await expectNoViolations(page)
      const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
      expect([path, isTooWide]).toEqual([path, false])
    }
  }, 120_000)

test('the navigation works with the keyboard only, and focus moves to the content', async () => {
  const { page } = await openAsAdministrator()
  await page.goto('/app')
  await settle(page)
  const link = page.getByRole('link', { name: 'Мой доступ' })
  for (let presses = 0; presses < 30; presses++) {
    await page.keyboard.press('Tab')
    if (await link.evaluate((element) => element === document.activeElement)) break
  }
  await page.keyboard.press('Enter')
  await page.waitForURL('**/app/account')
  await page.waitForFunction(() => document.activeElement?.id === 'main')
})

/** Types into the search, and waits for what it finds. */
async function searchFor(page: Page, text: string): Promise<void> {
  await page.goto('/app')
  await page.locator('[name=text]').fill(text)
  await page.keyboard.press('Enter')
}

test('a request is explained from its id, with its attempts, its price and what it took from the balance', async () => {
  const { page } = await openAsAdministrator()
  const address = (await findExamples())['/app/customers/:organization_id/requests/:request_id'] ?? ''
  const requestId = address.split('/').at(-1) ?? ''
  await searchFor(page, `chatcmpl-${requestId}`)
  await page.getByRole('heading', { name: 'Операции по балансу' }).waitFor()
  await expectNoViolations(page)
  await page.getByRole('link', { name: requestId }).click()
  await page.getByRole('heading', { name: 'Попытки' }).waitFor()
  await page.getByRole('link', { name: 'К клиенту' }).click()
  await page.waitForURL('**/app/customers/*')
})

test('a text that is too long is rejected at its field, and nothing is sent', async () => {
  const { page } = await openAsAdministrator()
  let isSent = false
  page.on('request', (request) => {
    if (request.url().endsWith('/admin/search')) isSent = true
  })
  await searchFor(page, 'x'.repeat(10_000))
  await page.getByText('Не больше 200 символов').waitFor()
  expect(isSent).toBe(false)
})

test('a customer’s balance is adjusted with a reason and a new code, and the timeline has it', async () => {
  const { page } = await openAsAdministrator()
  const customer = (await findExamples())['/app/customers/:organization_id'] ?? ''
  const pool = openDatabase()
  await pool.query("update administrator_sessions set mfa_at = now() - interval '1 hour'")
  await pool.end()
  await page.goto(customer)
  await page.getByRole('button', { name: 'Изменить баланс' }).click()
  await page.locator('dialog [name=amount_rub]').fill('0')
  await page.locator('dialog [name=reason]').fill('x')
  await page.locator('dialog [type=submit]').click()
  await page.getByText('Введите сумму, например').waitFor()
  await page.getByText('Опишите причину').waitFor()
  await expectNoViolations(page)
  await page.locator('dialog [name=amount_rub]').fill('12,50')
  await page.locator('dialog [name=reason]').fill('Извинение за сбой')
  await page.locator('dialog [type=submit]').click()
  await page.getByRole('heading', { name: 'Подтвердите, что это вы' }).waitFor()
  await page.locator('dialog [name=code]').fill(await administratorCode())
  await page.getByRole('button', { name: 'Подтвердить' }).click()
  await page.getByText('Баланс изменён').waitFor()
  await page.getByText('Корректировка · 12,50').first().waitFor()
})

test('every tab of a customer’s page shows its list, and axe finds nothing on any', async () => {
  const { page } = await openAsAdministrator()
  const customer = (await findExamples())['/app/customers/:organization_id'] ?? ''
  const pool = openDatabase()
  await pool.query(
    "insert into api_keys (id, organization_id, name, managed_by) values (gen_random_uuid(), $1, repeat('x', 253), 'cabinet')",
    [customer.split('/').at(-1)],
  )
  await pool.query(
    `with invited as (
       insert into invitations (id, organization_id, email, role, invited_by, expires_at)
       select gen_random_uuid(), organization_id, gen_random_uuid() || '-a-long-name@long.example', 'developer', user_id, now()
         from memberships where organization_id = $1 limit 1 returning id, email)
     insert into email_outbox (id, kind, recipient, locale, vars, sent_at, dedupe_key)
     select gen_random_uuid(), 'invitation', email, 'ru', '{}', now(), 'invitation:' || id from invited`,
    [customer.split('/').at(-1)],
  )
  await pool.end()
  await page.setViewportSize({ width: 1280, height: 4_000 }) // axe finds no background for text at the lower edge
  await page.goto(customer)
  for (const name of ['История', 'Ключи', 'Запросы', 'Отказы', 'Операции', 'Письма']) {
    await page.getByRole('tab', { name }).click()
    await settle(page)
    if (name === 'Письма') await page.getByText('-a-long-name@long.example').first().waitFor()
    await page.evaluate(() => scrollTo(0, 0)) // axe finds no background for text half below the top bar
    await expectNoViolations(page)
  }
})

test('an organization is blocked and unblocked with a reason, and its page shows the block', async () => {
  const { page } = await openAsAdministrator()
  await page.goto((await findExamples())['/app/customers/:organization_id'] ?? '')
  const act = async (name: string) => {
    await page.locator('main header').getByRole('button', { name, exact: true }).click()
    await page.locator('dialog [name=reason]').fill('Проверка правил')
    await page.locator('dialog [type=submit]').click()
    await page.locator('dialog').waitFor({ state: 'detached' })
  }
  await act('Заблокировать')
  await page.getByText('Организация заблокирована').waitFor()
  await act('Разблокировать')
  await page.getByText('Организация заблокирована').waitFor({ state: 'detached' })
})

test('a price is previewed, scheduled and canceled, and a price in the past is rejected at its field', async () => {
  const { page } = await openAsAdministrator({ language: 'en' })
  await page.goto('/app/models')
  await page.getByRole('link', { name: 'demo/slow' }).click()
  await page.getByRole('button', { name: 'Change the price' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByLabel('Input, 1M tokens').waitFor()
  await expectNoViolations(page)
  await dialog.getByLabel('Input, 1M tokens').fill('12,3456')
  await dialog.locator('[name=reason]').fill('A new contract')
  await dialog.getByRole('button', { name: 'Change the price' }).click()
  await dialog.getByText('Enter an amount, such as 15.500').waitFor()
  await dialog.getByLabel('Input, 1M tokens').fill('12,345')
  await dialog.getByRole('button', { name: 'Cost of the last week at this price' }).click()
  await dialog.getByText(/^Requests: \d+/).waitFor()
  await dialog.getByLabel('In force from').fill('2020-01-01T00:00:00')
  await dialog.getByRole('button', { name: 'Change the price' }).click()
  await dialog.getByText('must be at least one minute ahead').waitFor()
  const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1_000).toISOString().slice(0, 19)
  await dialog.getByLabel('In force from').fill(tomorrow)
  await dialog.getByRole('button', { name: 'Change the price' }).click()
  await page.getByText('Scheduled', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Cancel the price' }).click()
  await dialog.locator('[name=reason]').fill('A mistake')
  await dialog.getByRole('button', { name: 'Cancel the price' }).click()
  await page.getByText('Canceled', { exact: true }).first().waitFor()
})

test('a provider and a model are made from their specs, and errors of a spec are shown at its field', async () => {
  const { page } = await openAsAdministrator({ language: 'en' })
  await page.goto('/app/providers')
  await page.getByRole('button', { name: 'New provider' }).click()
  const dialog = page.locator('dialog')
  const name = `p-${Date.now()}`
  const spec = (baseURL: string) => JSON.stringify({ api: 'OpenAI', baseURL, auth: { type: 'Bearer' } })
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByLabel('Spec').fill(spec('https://169.254.169.254/v1'))
  await dialog.locator('[name=credential]').fill('sk-secret')
  await dialog.getByLabel('Reason').fill('A new provider')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('spec.baseURL: is a reserved or cloud metadata address').waitFor()
  await dialog.getByLabel('Spec').fill(spec('https://llm.example/v1'))
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name }).click()
  await page.getByText('Stored').waitFor()
  expect(await page.content()).not.toContain('sk-secret')

  await page.goto('/app/models')
  await page.getByRole('button', { name: 'New model' }).click()
  const model = {
    model: `shop/${name}`,
    backends: [{ name: 'main', providerRef: { name }, model: 'm' }],
    pricingRubPerMillionTokens: { input: '1', output: '2' },
  }
  await dialog.getByLabel('Spec').fill(JSON.stringify(model))
  await dialog.getByLabel('Reason').fill('A new model')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name: model.model }).waitFor()
})
