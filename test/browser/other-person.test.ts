import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { visit } from './addresses.ts'
import { callFrom, readFrom } from './signed-in-calls.ts'
import { openBrowser, register, signInOwner, system } from './visitor.ts'

test("a tab reloads as another user's after they sign in within another tab", async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  await page.getByLabel('Порог').fill('77')
  const other = await openBrowser()
  const email = await register(other.page)
  await page.context().addCookies(await other.page.context().cookies()) // affects all tabs at once
  // A tab that becomes visible does not repeat reads of the last 2 s.
  await expect
    .poll(
      async () => {
        await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
        return page.getByText(email).count()
      },
      { timeout: 15_000, interval: 500 },
    )
    .toBeGreaterThan(0)
  expect(await page.getByLabel('Порог').inputValue()).toBe('')
})

type Rows = readonly Readonly<Record<string, string>>[]

const listOf = async (page: Page, path: string) => (await readFrom<{ readonly data: Rows }>(page, path)).data

/** Creates a key and sends one request with it. @returns the key's name and the ids, once the request is settled */
async function askOnce(page: Page) {
  const name = `Own ${crypto.randomUUID()}`
  const { secret, key } = JSON.parse((await callFrom(page, 'POST', '/keys', { name })).text)
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'mine' }] })
  const asked = await fetch(`${system.baseUrl}/chat/completions`, { method: 'POST', headers, body })
  expect(asked.status).toBe(200)
  const settled = () => listOf(page, `/requests?key_id=${key.id}&outcome=completed`)
  await expect.poll(settled, { timeout: 15_000 }).toHaveLength(1)
  const [{ id: requestId = '' } = {}] = await settled()
  return { name, keyId: String(key.id), requestId }
}

test("an address with another user's filters shows none of their data, and reports an empty result", async () => {
  const owner = await openBrowser()
  await signInOwner(owner.page)
  const { keyId, requestId, name: theirKey } = await askOnce(owner.page)
  const { id: paymentId } = JSON.parse(
    (await callFrom(owner.page, 'POST', '/payments', { amount_rub: '100' })).text,
  )

  const { page } = await openBrowser()
  await register(page)
  const { name: ownKey } = await askOnce(page)
  const main = page.locator('main')
  const expectNothingOfTheirs = async () =>
    expect(await main.textContent(), page.url()).not.toContain(theirKey)
  const rows = page.getByRole('table', { name: 'Запросы' }).locator('tbody tr:has(th[scope=row])')
  const nothingFound = main.getByText('По этим условиям запросов не нашлось.')

  await visit(page, `/app/requests?key_id=${keyId}&outcome=completed`)
  await nothingFound.waitFor()
  expect(await rows.count()).toBe(0)
  await expectNothingOfTheirs()
  await main.getByRole('button', { name: 'Сбросить фильтры' }).click()
  await rows.getByText(ownKey).waitFor()
  await visit(page, '/app/requests?model=demo/echo&outcome=completed')
  await rows.getByText(ownKey).waitFor()
  expect(await rows.count()).toBe(1)
  await expectNothingOfTheirs()
  await visit(page, `/app/usage?group=key&key_id=${keyId}`)
  await page.getByRole('table', { name: 'По ключам' }).getByText(ownKey).waitFor()
  await expectNothingOfTheirs()

  for (const [address, message] of [
    [`/app/keys/${keyId}`, 'Не найдено'],
    [`/app/requests/${requestId}`, 'Запрос ещё не рассчитан'],
    [`/app/requests?request_id=${requestId}`, 'Запрос ещё не рассчитан'],
    [`/app/billing/return?payment=${paymentId}`, 'Не найдено'],
  ] as const) {
    await visit(page, address)
    await main.getByText(message).waitFor()
    await expectNothingOfTheirs()
  }
})

test('invalid filters in an address break no page', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  for (const address of [
    '/app/usage?range=custom&from=nonsense&bucket=<script>&group=1e9',
    '/app/requests?key_id=%00&outcome=%00&from=2026-13-45',
    '/app/models?kind=nothing&context=-1',
    '/app/billing?kind=nothing&from=tomorrow',
    '/app/billing/history?kind=nothing&from=tomorrow',
  ]) {
    await visit(page, address)
    expect(await page.getByRole('alert').count(), address).toBe(0)
  }
})
