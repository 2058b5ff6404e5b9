import { expect, test } from 'vitest'
import { addressesFor, visit } from './addresses.ts'
import { Faults } from './faults.ts'
import { findLatinWords, namesReadBy } from './latin-words.ts'
import { findMotion, findOverflow, readTexts, withDoubledTexts } from './page-faults.ts'
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
        const enlarge = (size: string) =>
          page.evaluate((fontSize) => document.documentElement.style.setProperty('font-size', fontSize), size)
        await resize(320)
        await visit(page, address)
        await look('at 320 px')
        await resize(1280)
        await look('at 1280 px')
        await withDoubledTexts(page, async () => {
          await look('at 1280 px, doubled')
          await resize(390)
          await look('at 390 px, doubled')
        })
        await resize(1280)
        await enlarge('200%')
        await look('at 200 %')
        await enlarge('')
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
