import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { callFrom } from './signed-in-calls.ts'

const cabinet = await ownCabinetOfThisFile()

async function makeKey(page: Page): Promise<void> {
  await page.goto('/app/keys?new')
  await page.locator('dialog [name=name]').fill('Shown once')
  await page.locator('dialog [type=submit]').click()
}

async function rotateKey(page: Page): Promise<void> {
  const { key } = JSON.parse((await callFrom(page, 'POST', '/keys', { name: 'Shown twice' })).text)
  await page.goto(`/app/keys/${key.id}`)
  await page.getByRole('button', { name: 'Выпустить новый секрет' }).click()
  await page.locator('dialog [type=submit]').click()
}

/** Makes the page check who is signed in, as when the user comes back to its tab. */
async function comeBack(page: Page, isNoticed: (status: number, body: string) => boolean): Promise<void> {
  const noticed = page.waitForResponse(
    async (answer) =>
      answer.url().endsWith('/api/v1/me') && isNoticed(answer.status(), await answer.text().catch(() => '')),
  )
  await page.evaluate(`window.coming = setInterval(() => dispatchEvent(new Event('visibilitychange')), 200)`)
  await noticed
  await page.evaluate(`clearInterval(window.coming)
    new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`)
}

const shownOn = (page: Page) => page.locator('dialog[open] [data-secret]')

for (const [what, show] of [
  ['a new key', makeKey],
  ['a rotated key', rotateKey],
] as const)
  test(`a session that ends while the secret of ${what} is shown leads to the sign-in only after the user has closed it`, async () => {
    const { page, userId } = await cabinet.openSignedIn()
    await show(page)
    await shownOn(page).waitFor()
    const secret = await shownOn(page).textContent()
    await cabinet.pool.query('delete from sessions where user_id = $1', [userId])
    await comeBack(page, (status) => status === 401)
    expect(await shownOn(page).textContent()).toBe(secret)
    const { pathname } = new URL(page.url())
    await page.getByRole('button', { name: 'Ключ сохранён' }).click()
    await page.waitForURL('**/login?next=*')
    expect(new URL(page.url()).searchParams.get('next')).toBe(pathname)
  }, 90_000)

test("another user's sign-in within another tab does not hide a secret either; after it is closed the page is theirs", async () => {
  const { page } = await cabinet.openSignedIn()
  const other = await cabinet.openSignedIn()
  await rotateKey(page)
  await shownOn(page).waitFor()
  const secret = await shownOn(page).textContent()
  await page.context().addCookies(await other.page.context().cookies()) // affects all tabs at once
  await comeBack(page, (_, body) => body.includes(other.email))
  expect(await shownOn(page).textContent()).toBe(secret)
  await page.getByRole('button', { name: 'Ключ сохранён' }).click()
  await page.getByText(other.email).first().waitFor({ state: 'attached' })
  await page.getByRole('main').getByText('Не найдено').waitFor()
}, 90_000)
