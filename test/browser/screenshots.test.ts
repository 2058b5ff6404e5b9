import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { takesScreenshots } from '../support/environment.ts'
import { addressesFor, settle } from './addresses.ts'
import { openBrowser, signInOwner } from './visitor.ts'

const folder = join(import.meta.dirname, 'screenshots')

/** One page only: `SCREENSHOTS=/app/keys`. */
const wanted = process.env.SCREENSHOTS?.startsWith('/') ? process.env.SCREENSHOTS : undefined

describe.runIf(takesScreenshots)('screenshots for review', () => {
  for (const language of ['ru', 'en'] as const)
    for (const theme of ['light', 'dark'] as const)
      for (const width of [1280, 390])
        test(`${language}, ${theme}, ${width} px`, async () => {
          mkdirSync(folder, { recursive: true })
          const { page } = await openBrowser({ language, theme, width })
          await signInOwner(page)
          for (const address of wanted === undefined ? await addressesFor(page) : [wanted]) {
            await page.goto(address)
            await settle(page)
            const path = join(folder, `${nameOf(address)}.${language}.${theme}.${width}.png`)
            await page.screenshot({ path, fullPage: true })
          }
        }, 180_000)
})

/** A file name: the same in every run, whatever ids the address contains. */
function nameOf(address: string): string {
  const path = address.replace(/\?.*$/, '').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'one')
  return path.replace(/\W+/g, '-').replace(/^-|-$/g, '') || 'start'
}
