import { expect, test } from 'vitest'
import { addressesFor, settle, visit } from './addresses.ts'
import { Faults } from './faults.ts'
import { keyboard } from './hand.ts'
import { findLatinWords, namesReadBy } from './latin-words.ts'
import { findMotion, findOverflow, readTexts, withDoubledTexts, withLargeText } from './page-faults.ts'
import { openBrowser, signInOwner } from './visitor.ts'

const everyPageMs = 180_000

for (const language of ['ru', 'en'] as const)
  test(
    `every page fits: at 320 px, with text at 200 %, and with texts twice as long (${language})`,
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
  'Russian pages say nothing in Latin letters but names',
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
  'nothing moves for those who have asked for that',
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

test('a dialog and a menu give the focus back to what opened them', async () => {
  const { page } = await openBrowser()
  await signInOwner(page)
  await visit(page, '/app/keys')
  const openers = [
    page.getByRole('main').getByRole('button', { name: 'Создать ключ' }).first(),
    page.getByRole('button', { name: 'Профиль и выход' }),
  ]
  for (const opener of openers) {
    await keyboard.press(opener)
    await page.locator('dialog[open], [popover]:popover-open').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Escape')
    await page.locator('dialog[open], [popover]:popover-open').waitFor({ state: 'detached' })
    expect(await opener.evaluate((element) => element === document.activeElement)).toBe(true)
  }
})

test('in forced colours the focus is seen wherever it goes, and what can be typed into has an edge', async () => {
  const { page } = await openBrowser({}, { forcedColors: 'active' })
  await page.goto('/register')
  await settle(page)
  const edges = await page.locator('input, select, textarea').evaluateAll((fields) =>
    fields.map((field) => {
      const { borderTopStyle, borderTopWidth, appearance } = getComputedStyle(field)
      return appearance !== 'none' || (borderTopStyle !== 'none' && borderTopWidth !== '0px')
    }),
  )
  expect(edges).not.toContain(false)
  for (let stops = 0; stops < 12; stops++) {
    await page.keyboard.press('Tab')
    const seen = await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement ?? document.body)
      return { is: document.activeElement?.tagName, outlineStyle, outlineWidth }
    })
    expect(seen.outlineStyle, seen.is).not.toBe('none')
    expect(seen.outlineWidth, seen.is).not.toBe('0px')
  }
})

test('what was read stays while other filters are asked for', async () => {
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
