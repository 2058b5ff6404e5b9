import { expect, test } from 'vitest'
import { addressesFor, visit } from './addresses.ts'
import { findColourViolations, findViolations } from './axe.ts'
import { Faults } from './faults.ts'
import { openBrowser, signInOwner } from './visitor.ts'

test('a page with planted violations breaks at least seven rules, so axe does run', async () => {
  const { page } = await openBrowser()
  await page.setContent(`<!doctype html><html><head></head><body>
    <img src="data:,"><input><button></button><a href="/x"></a>
    <p style="color:#999;background:#fff">pale</p><div role="checkbox">box</div><ul><p>not an item</p></ul>
    <button style="width:8px;height:8px;padding:0" aria-label="a"></button>
    <button style="width:8px;height:8px;padding:0" aria-label="b"></button>
    <iframe src="about:blank"></iframe><div aria-hidden="true"><button>hidden</button></div></body></html>`)
  const rules = new Set((await findViolations(page)).map((line) => line.split(' ')[0]))
  expect(rules.size).toBeGreaterThanOrEqual(7)
  expect(rules).toContain('color-contrast')
  expect(rules).toContain('target-size')
})

for (const [language, width] of [
  ['ru', 1280],
  ['en', 390],
] as const)
  test(`axe finds nothing on any page, light or dark (${language}, ${width} px)`, async () => {
    const { page } = await openBrowser({ language, width })
    await signInOwner(page)
    const faults = new Faults()
    for (const address of await addressesFor(page)) {
      await page.emulateMedia({ colorScheme: 'light' })
      await visit(page, address)
      faults.note(address, await findViolations(page))
      await page.emulateMedia({ colorScheme: 'dark' })
      faults.note(`${address}, dark`, await findColourViolations(page))
    }
    expect(faults.all()).toEqual([])
  }, 180_000)
