import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { addressesFor, visit } from './addresses.ts'
import { Faults } from './faults.ts'
import { keyboard } from './hand.ts'
import { findLatinWords, namesReadBy } from './latin-words.ts'
import {
  findLostInForcedColors,
  findMotion,
  findOverflow,
  readTexts,
  withDoubledTexts,
  withLargeText,
} from './page-faults.ts'
import { openBrowser, signInOwner } from './visitor.ts'

const everyPageMs = 180_000

for (const language of ['ru', 'en'] as const)
  test(
    `every page fits at 320 px, with text at 200 %, and with texts twice as long (${language})`,
    async () => {
      const { page } = await openBrowser({ language, width: 320 })
      await signInOwner(page)
      const faults = new Faults()
      for (const address of await addressesFor(page)) {
        const look = async (how: string) => faults.note(`${address} ${how}`, await findOverflow(page))
        const resize = (width: number) => page.setViewportSize({ width, height: 800 })
        await resize(320)
        await visit(page, address)
        await look('at 320 px')
        await resize(768)
        await look('at 768 px')
        await resize(1280)
        await look('at 1280 px')
        await withDoubledTexts(page, async () => {
          await look('at 1280 px, doubled')
          await resize(390)
          await look('at 390 px, doubled')
        })
        await resize(1280)
        await withLargeText(page, () => look('at 200 %'))
      }
      expect(faults.all()).toEqual([])
    },
    everyPageMs,
  )

test(
  'Russian pages contain no Latin words except names',
  async () => {
    const { page } = await openBrowser({ language: 'ru' })
    const names = namesReadBy(page)
    await signInOwner(page)
    const faults = new Faults()
    for (const address of await addressesFor(page)) {
      await visit(page, address)
      faults.note(address, findLatinWords(await readTexts(page), names))
    }
    expect(faults.all()).toEqual([])
  },
  everyPageMs,
)

test(
  'nothing moves for users who prefer reduced motion',
  async () => {
    const { page } = await openBrowser({}, { reducedMotion: 'reduce' })
    await signInOwner(page)
    const faults = new Faults()
    for (const address of await addressesFor(page)) {
      await visit(page, address)
      faults.note(address, await findMotion(page))
    }
    expect(faults.all()).toEqual([])
  },
  everyPageMs,
)

test('every dialog and menu returns the focus to the control that opened it', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  const key = (await addressesFor(page)).find((address) => address.startsWith('/app/keys/'))
  const main = page.getByRole('main')
  const more = page.getByRole('button', { name: 'Ещё', exact: true })
  const openers: readonly (readonly [string, Locator])[] = [
    ['/app/keys', main.getByRole('button', { name: 'Создать ключ' }).first()],
    [key ?? '', main.getByRole('button', { name: 'Выпустить новый секрет' })],
    [key ?? '', main.getByRole('button', { name: 'Отозвать ключ' })],
    ['/app/settings', main.getByRole('button', { name: 'Включить' })],
    ['/app', page.getByRole('button', { name: 'Профиль и выход' })],
    ['/app', more],
    ['/', page.getByRole('button', { name: 'Язык, оформление' })],
  ]
  for (const [address, opener] of openers) {
    await page.setViewportSize({ width: opener === more ? 390 : 1280, height: 800 })
    await visit(page, address)
    await keyboard.press(opener)
    const opened = page.locator('dialog[open], [popover]:popover-open')
    await opened.waitFor()
    await page.keyboard.press('Tab')
    expect(await opened.locator(':focus').count(), `${opener}`).toBe(1)
    await page.keyboard.press('Escape')
    await opened.waitFor({ state: 'detached' })
    expect(await opener.evaluate((element) => element === document.activeElement), `${opener}`).toBe(true)
  }
})

test('the tab list is one Tab stop: arrows, Home and End choose a tab, keys with Alt do not', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  await visit(page, '/app/models/demo/echo')
  const tabs = page.getByRole('tab')
  const chosen = page.getByRole('tab', { selected: true })
  await keyboard.press(tabs.first())
  for (const [key, name] of [
    ['ArrowRight', 'Node.js'],
    ['End', 'Python'],
    ['ArrowRight', 'curl'],
    ['ArrowLeft', 'Python'],
    ['Home', 'curl'],
  ] as const) {
    await page.keyboard.press(key)
    expect(await chosen.textContent(), key).toBe(name)
    expect(await chosen.evaluate((tab) => tab === document.activeElement), key).toBe(true)
    await page.getByRole('tabpanel', { name, exact: true }).waitFor()
  }
  await page.keyboard.press('Tab')
  expect(await tabs.and(page.locator(':focus')).count()).toBe(0)
  await page.keyboard.press('Shift+Tab')
  expect(await chosen.and(page.locator(':focus')).count()).toBe(1)
  await page.keyboard.press('Alt+ArrowRight')
  expect(await chosen.textContent()).toBe('curl')
})

test(
  'in forced colors every page shows its focus, its inputs and the selected options',
  async () => {
    const { page } = await openBrowser({}, { forcedColors: 'active' })
    await signInOwner(page)
    const faults = new Faults()
    for (const address of await addressesFor(page)) {
      await visit(page, address)
      await page.keyboard.press('Tab') // focus set after a key press is visible
      faults.note(address, await findLostInForcedColors(page))
    }
    expect(faults.all()).toEqual([])
  },
  everyPageMs,
)

test('data stays visible while other filters load', async () => {
  const { page, proxy } = await openBrowser()
  await signInOwner(page)
  await visit(page, '/app/usage')
  const row = page.locator('main table tbody tr').first()
  await row.waitFor()
  proxy.delay(({ pathname }) => pathname === '/api/v1/usage', 1_500)
  const answered = page.waitForResponse((response) => response.url().includes('group_by=key'))
  await page.evaluate(() => history.pushState(null, '', '/app/usage?group=key'))
  expect(await row.isVisible()).toBe(true)
  expect(await page.locator('main .after-a-moment').count()).toBe(0)
  await answered
  expect(await row.isVisible()).toBe(true)
})
