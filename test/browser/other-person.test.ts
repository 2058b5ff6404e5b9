import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { visit } from './addresses.ts'
import { callFrom, readFrom } from './signed-in-calls.ts'
import { openBrowser, register, signInOwner, system } from './visitor.ts'

test('once somebody else signs in within another tab, a tab begins anew as theirs', async () => {
  const { page } = await openBrowser()
  await register(page)
  await page.goto('/app/billing')
  await page.getByLabel('Порог').fill('77')
  const other = await openBrowser()
  const email = await register(other.page)
  await page.context().addCookies(await other.page.context().cookies()) // of all tabs, at once
  await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
  await page.getByText(email).first().waitFor({ state: 'attached', timeout: 15_000 })
  expect(await page.getByLabel('Порог').inputValue()).toBe('')
})

type Rows = readonly Readonly<Record<string, string>>[]

const listOf = async (page: Page, path: string) => (await readFrom<{ readonly data: Rows }>(page, path)).data

/** Makes a key and asks once with it. @returns the name of the key and the ids, once the request is settled */
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

test('an address with the filters of somebody else shows nothing of theirs, and says in words that nothing was found', async () => {
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
  const rows = page.getByRole('table', { name: 'Запросы' }).locator('tbody tr')
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

  for (const [address, told] of [
    [`/app/keys/${keyId}`, 'Такого здесь нет'],
    [`/app/requests/${requestId}`, 'Запрос ещё не рассчитан'],
    [`/app/requests?request_id=${requestId}`, 'Запрос ещё не рассчитан'],
    [`/app/billing/return?payment=${paymentId}`, 'Такого здесь нет'],
  ] as const) {
    await visit(page, address)
    await main.getByText(told).waitFor()
    await expectNothingOfTheirs()
  }
})

test('nonsense in the filters of an address breaks no page', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  for (const address of [
    '/app/usage?range=custom&from=nonsense&bucket=<script>&group=1e9',
    '/app/requests?key_id=%00&outcome=%00&from=2026-13-45',
    '/models?kind=nothing&context=-1',
    '/app/billing?kind=nothing&from=tomorrow',
  ]) {
    await visit(page, address)
    expect(await page.getByRole('alert').count(), address).toBe(0)
  }
})
