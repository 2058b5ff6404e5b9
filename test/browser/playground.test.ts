import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectNoViolations } from './axe.ts'
import { openBrowser, register, signInOwner, system } from './visitor.ts'

const question = 'Расскажи о море'

async function openPlayground(model: string, ...look: Parameters<typeof openBrowser>) {
  const visitor = await openBrowser(...look)
  await signInOwner(visitor.page)
  await visitor.page.goto(`/app/playground?model=${model}`)
  await visitor.page.getByLabel('Ваш вопрос').waitFor()
  return visitor
}

async function ask(page: Page, text = question): Promise<void> {
  await page.getByLabel('Ваш вопрос').fill(text)
  await page.getByRole('button', { name: 'Отправить' }).click()
}

/** Finds a model by a part of its name, as users do. */
async function chooseModel(page: Page, name: string): Promise<void> {
  const field = page.getByRole('combobox', { name: 'Модель' })
  await field.fill(name)
  await field.press('Enter')
}

/** Not the items of a list within an answer. */
const lastOf = (page: Page) => page.getByRole('log').locator('> ol > li').last()

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
  await chooseModel(page, 'demo/echo')
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
  await chooseModel(page, 'demo/echo')
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

test('neither text nor key is stored in the browser or the page, a reload forgets both, and no cookie reaches the gateway', async () => {
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

test('the conversation goes on while other pages are shown, also for an answer in progress, and ends with the session', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/playground?model=demo/slow')
  await page.getByLabel('Системное сообщение').fill('Отвечай кратко')
  await ask(page)
  await page.getByRole('button', { name: 'Остановить' }).waitFor()
  await page.getByLabel('Ваш вопрос').fill('Черновик')
  const goTo = (name: string) =>
    page.getByRole('navigation', { name: 'Основная навигация' }).first().getByRole('link', { name }).click()
  await goTo('Ключи')
  await page.getByRole('heading', { name: 'Ключи', level: 1 }).waitFor()
  await goTo('Песочница')
  await lastOf(page).getByText(question).first().waitFor()
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  expect(await page.getByRole('log').getByRole('listitem').count()).toBe(1)
  expect(await page.getByLabel('Ваш вопрос').inputValue()).toBe('Черновик')
  expect(await page.getByLabel('Системное сообщение').inputValue()).toBe('Отвечай кратко')
  expect(await page.getByRole('combobox').inputValue()).toBe('Demo slow')

  await page.getByRole('button', { name: 'Профиль и выход' }).click()
  await page.getByRole('button', { name: 'Выйти' }).click()
  await page.waitForURL('**/login')
  await signInOwner(page)
  await goTo('Песочница')
  await page.getByText('Здесь появится ответ').waitFor()
  expect(await page.getByLabel('Ваш вопрос').inputValue()).toBe('')
})

test('a model is found by typing a part of its name, with the keyboard only, and leaving the field changes nothing', async () => {
  const { page } = await openPlayground('demo/echo')
  const field = page.getByRole('combobox', { name: 'Модель' })
  const list = page.getByRole('listbox', { name: 'Модель' })
  await field.focus()
  expect([await list.count(), await field.getAttribute('aria-expanded')]).toEqual([0, 'false'])
  await page.keyboard.press('ArrowDown')
  const all = await list.getByRole('option').allTextContents()
  expect(all).toContain('Demo slow')
  const activeText = () =>
    page.evaluate(
      `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent`,
    )
  expect(await activeText()).toBe('Demo echo')
  expect(await list.getByRole('option', { selected: true }).allTextContents()).toEqual(['Demo echo'])
  await expectNoViolations(page)

  await page.keyboard.type('DEMO sl')
  expect(await list.getByRole('option').allTextContents()).toEqual(['Demo slow'])
  await page.keyboard.press('Escape')
  expect([await list.count(), await field.inputValue()]).toEqual([0, 'Demo echo'])
  await page.keyboard.press('Enter')
  await page.keyboard.press('End')
  await page.keyboard.type('nothing like it')
  await page.getByRole('status').getByText('Ничего не найдено').waitFor()
  await expectNoViolations(page)
  await page.keyboard.press('Enter')
  expect(await field.inputValue()).toBe('Demo echo')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('PageUp')
  await page.keyboard.press('ArrowDown')
  const chosen = await activeText()
  await page.keyboard.press('Tab')
  expect(await field.inputValue()).toBe('Demo echo')
  await field.click()
  await list.getByRole('option', { name: String(chosen), exact: true }).click()
  expect(await field.inputValue()).toBe(chosen)
  expect(new URL(page.url()).searchParams.get('model')).toMatch(/^demo\//)
})

const formatted = [
  '# Heading',
  '**bold** and *italic* and `inline`',
  '- one',
  '- two',
  '',
  '```ts',
  'const at = 1',
  '```',
  '',
  '| a | b |',
  '|---|---|',
  '| 1 | 2 |',
  '',
  '- [x] done',
  '',
  '[out](https://example.com/a?b=c)',
].join('\n')

test('an answer shows its Markdown, and a listing is copied as it was written', async () => {
  const permissions = ['clipboard-read', 'clipboard-write']
  const { page } = await openPlayground('demo/echo', {}, { permissions })
  await page.setViewportSize({ width: 1280, height: 2_000 }) // axe cannot judge colors of text that is scrolled away
  await ask(page, formatted)
  const answer = lastOf(page)
  await answer.getByRole('link', { name: 'Квитанция' }).waitFor()
  await answer.getByRole('heading', { name: 'Heading', level: 4 }).waitFor()
  expect(await answer.locator('strong, em').allTextContents()).toEqual(['bold', 'italic'])
  expect(await answer.getByRole('table').getByRole('cell').allTextContents()).toEqual(['1', '2'])
  const link = answer.getByRole('link', { name: 'out' })
  expect([await link.getAttribute('href'), await link.getAttribute('rel')]).toEqual([
    'https://example.com/a?b=c',
    'noopener noreferrer nofollow',
  ])
  await answer.getByRole('button', { name: 'Копировать код: ts' }).click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('const at = 1')
  await expectNoViolations(page)
})

const hostile = [
  '<img src=x onerror="window.owned=1"><script>window.owned=1</script><iframe src="https://evil.example/"></iframe>',
  '<a href="javascript:window.owned=1">a</a> <svg onload="window.owned=1"></svg> <style>*{display:none}</style>',
  '![pixel](https://evil.example/pixel.png "t") ![data](data:image/svg+xml;base64,PHN2Zz4=) ![](//evil.example/x)',
  '[js](javascript:window.owned=1) [js2](JaVaScRiPt:alert(1)) [js3](java&#10;script:alert(1)) [vb](vbscript:x)',
  '[data](data:text/html,<script>1</script>) [own](/app/settings) [rel](../login) [proto](//evil.example/y)',
  '[ref][1] <javascript:alert(1)> [x](<javascript:alert(1)>) [title](https://ok.example/ "" onmouseover=alert(1) ")',
  '',
  '[1]: javascript:alert(1)',
  '',
  '# constructor __proto__ location',
  '',
  'note[^n]',
  '',
  '[^n]: <b onclick=alert(1)>foot</b>',
  '',
  '```"><img src=x onerror=window.owned=1>',
  '</code></pre><script>window.owned=1</script>',
  '```',
  '',
  '>'.repeat(300),
  '['.repeat(300),
  '*_'.repeat(300),
].join('\n')

test('hostile Markdown runs nothing, loads nothing, and leads only to the web, in a new tab', async () => {
  const { page, complaints } = await openPlayground('demo/echo')
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).hostname))
  await ask(page, hostile)
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  const found = await page.evaluate(`(() => {
    const answer = document.querySelector('[role=log] li:last-child > div:last-child')
    const all = [...answer.querySelectorAll('*')]
    const allowed = new Set(['class', 'href', 'rel', 'target', 'type', 'aria-label', 'aria-hidden', 'value', 'tabindex', 'role', 'start'])
    const icon = (one) => one.closest('button svg') !== null
    return {
      elements: all.filter((one) => !icon(one) && /^(img|script|iframe|svg|style|object|embed|form|input|b)$/i.test(one.tagName)).length,
      attributes: all.filter((one) => !icon(one)).flatMap((one) => one.getAttributeNames()).filter((name) => !allowed.has(name)),
      links: [...answer.querySelectorAll('a')].map((link) => link.getAttribute('href') + ' ' + link.target),
      owned: window.owned,
    }
  })()`)
  const links = (found as { links: readonly string[] }).links.filter(
    (link) => !link.startsWith('/app/requests/'),
  )
  expect(found).toMatchObject({ elements: 0, attributes: [] })
  expect((found as { owned?: unknown }).owned).toBeUndefined()
  expect(links.filter((link) => !/^https:\/\/\S+ _blank$/.test(link))).toEqual([])
  expect(asked.filter((host) => host.endsWith('.example'))).toEqual([])
  expect(complaints).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
})

test('axe finds nothing in the playground: empty, with an answer, and with an error', async () => {
  const { page } = await openPlayground('demo/echo')
  await expectNoViolations(page)
  await ask(page)
  await lastOf(page).getByRole('link', { name: 'Квитанция' }).waitFor()
  await chooseModel(page, 'demo/error')
  await ask(page)
  await page.getByRole('button', { name: 'Спросить ещё раз' }).waitFor()
  await expectNoViolations(page)
})

test('the page Connect fills in the URL and the model for each program, by keyboard too, and its test shows the receipt of the request', async () => {
  const { page, complaints } = await openBrowser({ width: 320 })
  await signInOwner(page)
  await page.goto('/app/connect?client=codex&model=demo/slow')
  const config = page.locator('figure', { hasText: '~/.codex/config.toml' }).locator('pre')
  await config.waitFor()
  expect(await config.textContent()).toContain(`model = "demo/slow"`)
  expect(await config.textContent()).toContain(`base_url = "${system.baseUrl}"`)
  await chooseModel(page, 'demo/echo')
  await expect.poll(() => config.textContent()).toContain(`model = "demo/echo"`)

  await page.getByLabel('Программа').focus()
  await page.keyboard.press('End')
  const field = (name: string) => page.locator('dl div', { hasText: name }).locator('code')
  await expect.poll(() => field('Base URL').textContent()).toBe(system.baseUrl)
  expect(await field('API Key').textContent()).toBe('sk-gateway-…')
  expect(page.url()).toContain('?client=n8n&model=demo%2Fecho')
  await expectNoViolations(page)

  await page.getByRole('button', { name: 'Отправить запрос' }).press('Enter')
  const result = page.getByRole('region', { name: 'Проверка' }).getByRole('status')
  const link = result.getByRole('link')
  await link.waitFor()
  const id = (await link.textContent()) ?? ''
  expect(await link.getAttribute('href')).toBe(`/app/requests/${id}`)
  const shown = await result.locator('data').getAttribute('value')
  await expect
    .poll(async () => (await call<{ cost_rub?: string }>(page, 'GET', `/requests/${id}`)).cost_rub)
    .toBe(shown)
  await expectNoViolations(page)
  expect(complaints).toEqual([])
})

test('a rejected test request shows the message of its error', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  await page.goto('/app/connect')
  await page.route('**/v1/chat/completions', (route) =>
    route.fulfill({ status: 402, json: { error: { code: 'insufficient_balance', message: 'no money' } } }),
  )
  await page.getByRole('button', { name: 'Отправить запрос' }).click()
  await page.getByRole('alert').getByText('На балансе нет денег').waitFor()
  await page.getByRole('button', { name: 'Отправить ещё раз' }).waitFor()
})
