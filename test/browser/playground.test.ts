import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectNoViolations } from './axe.ts'
import { openBrowser, register, signInOwner, system } from './visitor.ts'

const question = 'Расскажи о море'

async function openPlayground(model: string, look: Parameters<typeof openBrowser>[0] = {}) {
  const visitor = await openBrowser(look)
  await signInOwner(visitor.page)
  await visitor.page.goto(`/app/playground?model=${model}`)
  await visitor.page.getByLabel('Ваш вопрос').waitFor()
  return visitor
}

async function ask(page: Page, text = question): Promise<void> {
  await page.getByLabel('Ваш вопрос').fill(text)
  await page.getByRole('button', { name: 'Отправить' }).click()
}

const lastOf = (page: Page) => page.getByRole('log').getByRole('listitem').last()

/** Calls the cabinet as the page does, with its session. */
function call<Body>(page: Page, method: string, path: string, headers = {}, body?: object): Promise<Body> {
  const init = {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  }
  return page.evaluate(
    `fetch('/api/v1${path}', ${JSON.stringify(init)}).then((answer) => answer.json().catch(() => undefined))`,
  ) as Promise<Body>
}

type Keys = { readonly data: readonly { readonly id: string; readonly purpose: string }[] }

async function keyOf(page: Page): Promise<string> {
  const { data } = await call<Keys>(page, 'GET', '/keys?purpose=playground&limit=50')
  return data[0]?.id ?? ''
}

test('an answer appears as it streams, and its cost equals that of the receipt', async () => {
  const { page, complaints } = await openPlayground('demo/slow')
  await page.evaluate(`
    window.painted = new Set()
    new MutationObserver(() => {
      const answer = document.querySelector('[role=log] li:last-child div:last-child p')
      if (answer !== null) window.painted.add(answer.textContent)
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
  await ask(page)
  await page.getByRole('button', { name: 'Остановить' }).waitFor()
  const receipt = lastOf(page).getByRole('link', { name: 'Квитанция' })
  await receipt.waitFor()
  expect(Number(await page.evaluate('window.painted.size'))).toBeGreaterThanOrEqual(3)

  const shown = await lastOf(page).locator('data').getAttribute('value')
  const id = (await receipt.getAttribute('href'))?.split('/').at(-1)
  await expect
    .poll(async () => (await call<{ cost_rub?: string }>(page, 'GET', `/requests/${id}`)).cost_rub)
    .toBe(shown)
  expect(Number(shown)).toBeGreaterThan(0)
  expect(complaints).toEqual([])
})

test('a stopped answer receives no more text, and the next question can be asked', async () => {
  const { page } = await openPlayground('demo/slow')
  await ask(page)
  await lastOf(page).getByText(question).nth(1).waitFor()
  await page.getByRole('button', { name: 'Остановить' }).click()
  await lastOf(page).getByText('Ответ остановлен').waitFor()
  const stopped = await lastOf(page).textContent()
  await page.getByLabel('Модель').selectOption('demo/echo')
  await ask(page, 'Дальше')
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  expect(await page.getByRole('log').getByRole('listitem').first().textContent()).toBe(stopped)
  expect(await page.getByRole('log').getByRole('listitem').count()).toBe(2)
})

test('two clicks ask once, Enter sends, and Shift + Enter adds a line', async () => {
  const { page } = await openPlayground('demo/slow')
  await page.getByLabel('Ваш вопрос').fill(question)
  await page.getByRole('button', { name: 'Отправить' }).dblclick()
  expect(await page.getByRole('log').getByRole('listitem').count()).toBe(1)
  await page.getByRole('button', { name: 'Остановить' }).click()
  await page.getByLabel('Модель').selectOption('demo/echo')
  await page.getByLabel('Ваш вопрос').pressSequentially('раз')
  await page.getByLabel('Ваш вопрос').press('Shift+Enter')
  await page.getByLabel('Ваш вопрос').pressSequentially('два')
  await page.getByLabel('Ваш вопрос').press('Enter')
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  expect(await lastOf(page).locator('p').first().textContent()).toBe('раз\nдва')
})

test('a revoked or expired key is replaced without the user noticing', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/playground?model=demo/echo')
  await ask(page)
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  const first = await keyOf(page)
  await call(page, 'DELETE', `/keys/${first}`)
  await ask(page, 'Ещё раз')
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  expect(await keyOf(page)).not.toBe(first)
})

test('an API error is shown as a message with the numbers of its body, and a click asks again', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/playground?model=demo/echo')
  await ask(page)
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  const path = `/keys/${await keyOf(page)}`
  const change = async (body: object) => {
    const etag = await page.evaluate(`fetch('/api/v1${path}').then(({ headers }) => headers.get('etag'))`)
    await call(page, 'PATCH', path, { 'if-match': String(etag) }, body)
  }

  await change({ daily_budget_rub: '0.01' })
  await page.getByLabel('Токенов в ответе').fill('16000') // without it the gateway holds as much as the balance can pay
  await ask(page)
  await lastOf(page).getByText('Не хватает бюджета песочницы').waitFor()
  expect(await lastOf(page).textContent()).toMatch(
    /до 0,\d+.₽, а из дневного бюджета 0,01.₽ уже потрачено 0,00\d+.₽/,
  )
  await change({ daily_budget_rub: '50', rpm: 1 })
  await page.getByRole('button', { name: 'Спросить ещё раз' }).click()
  await lastOf(page).getByText('Слишком много запросов').waitFor()
  expect(await lastOf(page).textContent()).toMatch(/За последнюю минуту — \d+ при лимите 1\./)
  expect(await lastOf(page).textContent()).toMatch(/Повторите через \d+/)
  await call(page, 'POST', `${path}/block`)
  await page.getByRole('button', { name: 'Спросить ещё раз' }).click()
  await lastOf(page).getByText('Ключ песочницы заблокирован').waitFor()
  await call(page, 'POST', `${path}/unblock`)
  await change({ rpm: 100 })
  await page.getByRole('button', { name: 'Спросить ещё раз' }).click()
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  expect(await page.getByRole('log').getByRole('listitem').count()).toBe(2)
})

test('without a connection the question stays, and is asked once there is one', async () => {
  const { page } = await openPlayground('demo/echo')
  await ask(page, 'Раз')
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  await page.context().setOffline(true)
  await ask(page, 'Два')
  await lastOf(page).getByText('Шлюз недоступен').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Спросить ещё раз' }).click()
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
})

test('neither text nor key is stored in the browser or the page, and no cookie reaches the gateway', async () => {
  const { page } = await openPlayground('demo/echo')
  const sent: { readonly cookie: string | undefined; readonly secret: string }[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(system.baseUrl) || request.method() !== 'POST') return
    const { cookie, authorization = '' } = request.headers()
    sent.push({ cookie, secret: authorization.replace('Bearer ', '') })
  })
  await ask(page)
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  expect(sent.map(({ cookie }) => cookie)).toEqual([undefined])
  const kept = String(
    await page.evaluate(
      `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href])`,
    ),
  )
  const [{ secret = '' } = {}] = sent
  expect(secret).toMatch(/^sk-gateway-/)
  expect(kept).not.toContain(secret)
  expect(kept).not.toContain(question)
  expect(await page.content()).not.toContain(secret)
  expect(await page.locator('pre').textContent()).toContain('$MODEL_GATEWAY_API_KEY')
  await page.reload()
  await page.getByText('Здесь появится ответ').waitFor()
})

test('wrong settings show errors at their fields, and nothing is sent', async () => {
  const { page } = await openPlayground('demo/echo')
  for (const wrong of ['3', '-1', 'тепло']) {
    await page.getByLabel('Температура').fill(wrong)
    expect(await page.getByLabel('Температура').getAttribute('aria-invalid')).toBe('true')
  }
  await ask(page)
  expect(await page.getByRole('log').count()).toBe(0)
  expect(await page.getByLabel('Ваш вопрос').inputValue()).toBe(question)
  await page.getByLabel('Температура').fill('０,5')
  await page.getByLabel('Токенов в ответе').fill('1\u00a0000')
  expect(await page.locator('pre').textContent()).toContain('"temperature": 0.5,\n    "max_tokens": 1000')
  await page.getByLabel('Ваш вопрос').fill('<script>alert(1)</script>')
  await page.getByRole('button', { name: 'Отправить' }).click()
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  expect(await lastOf(page).locator('p').nth(1).textContent()).toBe('<script>alert(1)</script>')
})

test('axe finds nothing in the playground: empty, with an answer, and with an error', async () => {
  const { page } = await openPlayground('demo/echo')
  await expectNoViolations(page)
  await ask(page)
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  await page.getByLabel('Модель').selectOption('demo/error')
  await ask(page)
  await page.getByRole('button', { name: 'Спросить ещё раз' }).waitFor()
  await expectNoViolations(page)
})
